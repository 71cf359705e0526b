import { describe, expect, test } from "bun:test";
import { fakeClock } from "../../../../test/support/time/fake-clock.ts";
import { EtcdFailure } from "../protocol/failure.ts";
import { withLiveness } from "./liveness.ts";

/** A watch whose replies come when the test says so, beginning with `0`. */
function startWatch(probe: () => Promise<void>) {
  const clock = fakeClock();
  let give: (reply: IteratorResult<number>) => void = () => undefined;
  let isReturned = false;
  const replies: AsyncIterator<number> = {
    next: () => new Promise((resolve) => (give = resolve)),
    async return() {
      isReturned = true;
      return { done: true, value: undefined };
    },
  };
  const watch = withLiveness({ done: false, value: 0 }, replies, clock, probe)[Symbol.asyncIterator]();
  return { clock, watch, give: (reply: IteratorResult<number>) => give(reply), isReturned: () => isReturned };
}

describe("withLiveness()", () => {
  test("passes replies on and ends with them", async () => {
    const { clock, watch, give } = startWatch(async () => undefined);
    expect(await watch.next()).toEqual({ done: false, value: 0 });
    const second = watch.next();
    await Promise.resolve();
    give({ done: false, value: 1 });
    expect(await second).toEqual({ done: false, value: 1 });
    expect(clock.sleepers).toBe(0);
    const last = watch.next();
    await Promise.resolve();
    give({ done: true, value: undefined });
    expect((await last).done).toBe(true);
  });

  test("asks a silent server every 30 seconds whether it lives, and fails with what it is told", async () => {
    let probes = 0;
    const { clock, watch, isReturned } = startWatch(async () => {
      if (++probes === 3) throw new EtcdFailure("lost", "no answer within 5 s");
    });
    await watch.next();
    const failure = watch.next().catch((thrown: unknown) => thrown);
    for (const [elapsed, expected] of [
      [29_000, 0],
      [1_000, 1],
      [30_000, 2],
      [30_000, 3],
    ] as const) {
      await clock.advance(elapsed);
      expect(probes).toBe(expected);
    }
    expect(await failure).toMatchObject({ reason: "lost", message: "no answer within 5 s" });
    expect(isReturned()).toBe(true);
  });

  test("believes no server that says nothing for longer than etcd ever does", async () => {
    const { clock, watch } = startWatch(async () => undefined);
    await watch.next();
    const failure = watch.next().catch((thrown: unknown) => thrown);
    await clock.advance(13 * 60_000);
    expect(await failure).toMatchObject({ reason: "lost", message: "the watch is silent" });
  });
});
