import { expect, test } from "bun:test";
import { fakeClock } from "../../test/support/time/fake-clock.ts";
import { waitAtMost } from "./wait-at-most.ts";

test("what comes in time is given at once, and no timer is left", async () => {
  const clock = fakeClock();
  const reply = { status: 200 };
  expect(await waitAtMost(1_000, Promise.resolve(reply), clock)).toBe(reply);
  expect(clock.sleepers).toBe(0);
});

test("what does not come is given up after that time, and can be waited for again", async () => {
  const clock = fakeClock();
  const { promise, resolve } = Promise.withResolvers<object>();
  const first = waitAtMost(1_000, promise, clock);
  await clock.advance(1_000);
  expect(await first).toBeUndefined();
  const second = waitAtMost(1_000, promise, clock);
  resolve({});
  expect(await second).toEqual({});
});

test("a failure in time is thrown", async () => {
  await expect(waitAtMost(1_000, Promise.reject(new Error("no")), fakeClock())).rejects.toThrow("no");
});
