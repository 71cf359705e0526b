import { expect, test } from "bun:test";
import { systemClock } from "./clock.ts";

test("sleep() lasts at least as long as it should, by the monotonic clock", async () => {
  const start = systemClock.monotonic();
  await systemClock.sleep(5);
  expect(systemClock.monotonic() - start).toBeGreaterThanOrEqual(4.5);
});

test("an aborted sleep ends at once with the signal's reason", async () => {
  const controller = new AbortController();
  const outcome = systemClock.sleep(60_000, controller.signal).catch((thrown: unknown) => thrown);
  controller.abort(new Error("enough"));
  expect(await outcome).toEqual(new Error("enough"));
  await expect(systemClock.sleep(60_000, controller.signal)).rejects.toThrow("enough");
});
