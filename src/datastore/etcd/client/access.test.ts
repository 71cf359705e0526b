import { expect, test } from "bun:test";
import { systemClock } from "../../../lib/clock.ts";
import type { Files } from "../../../lib/ports.ts";
import { Access } from "./access.ts";

test("a request whose time is up when its log-in is done is not sent, and known not to be", async () => {
  const counts = { roundTrips: 0, retries: 0 };
  const access = new Access({ endpoints: [] }, { clock: systemClock, files: {} as Files }, counts);
  let isSent = false;
  const call = access.call("http://127.0.0.1:1", AbortSignal.abort(new Error("over")), async () => {
    isSent = true;
  });
  await expect(call).rejects.toMatchObject({ name: "EtcdFailure", reason: "unreachable", message: "over" });
  expect([isSent, counts.roundTrips]).toEqual([false, 0]);
});
