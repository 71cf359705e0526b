import { expect, test } from "bun:test";
import { startDeadline } from "../../lib/deadline.ts";
import { NetplugError } from "../../lib/errors.ts";
import { fakeClock } from "../../../test/support/time/fake-clock.ts";
import type { FakeClock } from "../../../test/support/time/fake-clock.ts";
import { silentLog } from "../../../test/support/silent-log.ts";
import type { Host } from "../host.ts";
import { waitForGates } from "./readiness-gates.ts";

/** A status, the text of a failure, or `"hang"` for none at all. */
type Answer = number | string;

interface Outcome {
  readonly error: NetplugError | undefined;
  /** Milliseconds until the wait ended. */
  readonly endedAt: number;
  /** When each gate was asked. */
  readonly asked: ReadonlyMap<string, number[]>;
}

/** Waits for gates that answer as told: a status, a failure's text, or never; `at` is the time since the start. */
async function run(gates: Record<string, (at: number) => Answer>, deadlineMs = 60_000): Promise<Outcome> {
  const clock = fakeClock();
  const asked = new Map<string, number[]>();
  const fetch: Host["fetch"] = (url, signal) => {
    const at = clock.monotonic();
    asked.set(url, [...(asked.get(url) ?? []), at]);
    const answer = gates[url]?.(at) ?? "no such gate";
    if (answer === "hang") return new Promise((_, reject) => void signal.addEventListener("abort", () => reject(signal.reason)));
    return typeof answer === "number" ? Promise.resolve({ status: answer }) : Promise.reject(new Error(answer));
  };
  let endedAt = -1;
  const { signal } = new AbortController();
  const pending = waitForGates(Object.keys(gates), startDeadline(clock, deadlineMs), { fetch, clock, log: silentLog }, signal).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  void pending.then(() => (endedAt = clock.monotonic()));
  await advanceInSteps(clock, 40_000);
  const error = await pending;
  if (error !== undefined && !(error instanceof NetplugError)) throw error;
  return { error, endedAt, asked };
}

async function advanceInSteps(clock: FakeClock, ms: number): Promise<void> {
  for (let at = 0; at < ms; at += 50) await clock.advance(50);
}

test("no gates take no time", async () => {
  expect(await run({})).toMatchObject({ error: undefined, endedAt: 0 });
});

test.each([200, 204, 299, 301, 304, 399])("a gate that answers %p at once costs no wait", async (status) => {
  const { error, endedAt, asked } = await run({ "http://a/": () => status });
  expect({ error, endedAt }).toEqual({ error: undefined, endedAt: 0 });
  expect(asked.get("http://a/")).toEqual([0]);
});

test("all gates are asked at the same time, and the wait ends with the last", async () => {
  const { error, endedAt, asked } = await run({
    "http://a/": () => 200,
    "http://b/": (at) => (at < 2_000 ? 503 : 200),
    "http://c/": (at) => (at < 4_000 ? "ECONNREFUSED" : 200),
  });
  expect(error).toBeUndefined();
  expect(endedAt).toBeGreaterThanOrEqual(4_000);
  expect(endedAt).toBeLessThanOrEqual(5_000);
  for (const times of asked.values()) expect(times[0]).toBe(0);
  expect(asked.get("http://a/")).toHaveLength(1);
});

test("tries are at most one second apart", async () => {
  const { asked } = await run({ "http://a/": () => 500 });
  const times = asked.get("http://a/") ?? [];
  const gaps = times.slice(1).map((time, i) => time - (times[i] ?? 0));
  expect(Math.max(...gaps)).toBeLessThanOrEqual(1_000);
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(100);
});

test("after 30 s each gate that was not ready is named with its last answer", async () => {
  const { error, endedAt } = await run({
    "http://ready/": () => 200,
    "http://closed/": (at) => (at < 10_000 ? 404 : 503),
    "http://refused/": () => "ECONNREFUSED",
    "http://silent/": () => "hang",
  });
  expect(error).toMatchObject({ code: 11, retriable: true });
  expect(error?.message).toBe(
    'wait for readiness gates: not ready within 30 s: "http://closed/" (status 503); "http://refused/" (ECONNREFUSED); ' +
      '"http://silent/" (no answer)',
  );
  expect(endedAt).toBeGreaterThan(29_000);
  expect(endedAt).toBeLessThanOrEqual(30_000);
});

test("a gate that opens in the last second is seen", async () => {
  const { error, asked } = await run({ "http://a/": (at) => (at < 29_300 ? 503 : 200) });
  expect(error).toBeUndefined();
  expect(asked.get("http://a/")?.at(-1)).toBeGreaterThanOrEqual(29_300);
});

test("a gate that hangs is asked again after 5 s", async () => {
  const { error, asked } = await run({ "http://a/": (at) => (at < 5_000 ? "hang" : 200) });
  expect(error).toBeUndefined();
  expect(asked.get("http://a/")).toHaveLength(2);
  expect(asked.get("http://a/")?.[1]).toBeLessThanOrEqual(6_000);
});

test("an operation with less time ends earlier", async () => {
  const { error, endedAt } = await run({ "http://a/": () => 500 }, 3_000);
  expect(error?.message).toContain("not ready within 3 s");
  expect(endedAt).toBeLessThanOrEqual(3_000);
});

test("a password in a gate's URL is not shown", async () => {
  const { error } = await run({ "http://user:hunter2@a/": () => 500 });
  expect(error?.message).not.toContain("hunter2");
});

test("whoever waits can stop the wait", async () => {
  const clock = fakeClock();
  const stop = new AbortController();
  const fetch: Host["fetch"] = () => Promise.resolve({ status: 500 });
  const pending = waitForGates(["http://a/"], startDeadline(clock, 60_000), { fetch, clock, log: silentLog }, stop.signal);
  await clock.advance(50);
  stop.abort(new Error("the pod is gone"));
  expect(pending).rejects.toThrow("the pod is gone");
  await pending.catch(() => {});
  expect(clock.sleepers).toBe(0);
});
