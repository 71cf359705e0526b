import { expect, test } from "bun:test";
import { startDeadline, toDurationText } from "./deadline.ts";
import { NetplugError } from "./errors.ts";
import { fakeClock } from "../../test/support/time/fake-clock.ts";

test("a wait that takes too long ends with code 11, says what was waited for, and aborts the work", async () => {
  const clock = fakeClock();
  let aborted = false;
  const wait = startDeadline(clock, 60_000).wait("etcd", (signal) => {
    signal.addEventListener("abort", () => (aborted = true));
    return new Promise<never>(() => {});
  });
  const outcome = wait.catch((thrown: unknown) => thrown);
  await clock.advance(59_999);
  expect(aborted).toBe(false);
  await clock.advance(1);
  expect(aborted).toBe(true);
  expect(await outcome).toEqual(new NetplugError("tryAgainLater", "wait for etcd: not done within 60 s"));
  expect(((await outcome) as NetplugError).code).toBe(11);
});

test("a limit of one wait ends it before the deadline does, and says its own length", async () => {
  const clock = fakeClock();
  const outcome = startDeadline(clock, 60_000)
    .wait("readiness gate", () => new Promise<never>(() => {}), { limitMs: 1_500 })
    .catch((thrown: unknown) => thrown);
  await clock.advance(1_500);
  expect(await outcome).toEqual(new NetplugError("tryAgainLater", "wait for readiness gate: not done within 1.5 s"));
});

test("work that is done in time gives its value and leaves no timer", async () => {
  const clock = fakeClock();
  const deadline = startDeadline(clock, 1_000);
  expect(await deadline.wait("etcd", async () => 42)).toBe(42);
  expect(deadline.wait("etcd", () => Promise.reject(new RangeError("no")))).rejects.toThrow(RangeError);
  await clock.advance(0);
  expect(clock.sleepers).toBe(0);
});

test("work that fails before it waits for anything leaves no timer", async () => {
  const clock = fakeClock();
  const wait = startDeadline(clock, 1_000).wait("etcd", () => {
    throw new RangeError("at once");
  });
  await expect(wait).rejects.toThrow(RangeError);
  expect(clock.sleepers).toBe(0);
});

test("a signal from outside ends a wait with its own reason", async () => {
  const clock = fakeClock();
  const outside = new AbortController();
  const outcome = startDeadline(clock, 1_000)
    .wait("etcd", () => new Promise<never>(() => {}), { signal: outside.signal })
    .catch((thrown: unknown) => thrown);
  await clock.advance(10);
  outside.abort(new Error("SIGTERM"));
  expect(await outcome).toEqual(new Error("SIGTERM"));
});

test("after the deadline nothing is begun any more", async () => {
  const clock = fakeClock();
  const deadline = startDeadline(clock, 100);
  deadline.check("etcd");
  await clock.advance(101);
  let begun = false;
  const outcome = await deadline.wait("etcd", async () => (begun = true)).catch((thrown: unknown) => thrown);
  expect([begun, (outcome as NetplugError).kind, deadline.remainingMs()]).toEqual([false, "tryAgainLater", 0]);
  expect(() => deadline.check("the kernel")).toThrow("wait for the kernel: not done within 100 ms");
});

test("within() never outlives the deadline it was cut from", async () => {
  const clock = fakeClock();
  const deadline = startDeadline(clock, 1_000);
  expect(deadline.within(5_000).remainingMs()).toBe(1_000);
  expect(deadline.within(200).remainingMs()).toBe(200);
});

test("toDurationText() is short", () => {
  expect([300, 1_000, 1_450, 20_000].map(toDurationText)).toEqual(["300 ms", "1 s", "1.5 s", "20 s"]);
});
