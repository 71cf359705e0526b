import { expect, test } from "bun:test";
import { fakeClock } from "../../../test/support/time/fake-clock.ts";
import { TryLimit } from "./try-limit.ts";

test("a try ends with its time, in the words that people know the limit by", async () => {
  const clock = fakeClock();
  const limit = new TryLimit(clock, 300, 5_000, undefined);
  await clock.advance(299);
  expect(limit.signal.aborted).toBe(false);
  await clock.advance(1);
  expect(limit.signal.reason).toMatchObject({ code: 11, message: "no answer within 5 s" });
});

test.each(["before", "while"])("a try whose caller gives up %s it is made ends for the caller's reason", (when) => {
  const caller = new AbortController();
  const reason = new Error("stop");
  if (when === "before") caller.abort(reason);
  using limit = new TryLimit(fakeClock(), 300, 300, caller.signal);
  caller.abort(reason);
  expect(limit.signal.reason).toBe(reason);
});

test("a try that is over holds nothing: neither its time nor its caller ends it any more", async () => {
  const clock = fakeClock();
  const caller = new AbortController();
  const limit = new TryLimit(clock, 300, 300, caller.signal);
  limit[Symbol.dispose]();
  expect(clock.sleepers).toBe(0);
  await clock.advance(300);
  caller.abort();
  expect(limit.signal.aborted).toBe(false);
});

test("what goes on after its beginning is ended by its caller alone", async () => {
  const clock = fakeClock();
  const caller = new AbortController();
  const limit = new TryLimit(clock, 300, 300, caller.signal);
  limit.release();
  limit[Symbol.dispose]();
  await clock.advance(300);
  expect(limit.signal.aborted).toBe(false);
  caller.abort();
  expect(limit.signal.aborted).toBe(true);
});
