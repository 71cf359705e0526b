import { expect, test } from "bun:test";
import { createLocalWorld } from "../../../test/support/calls/local-call.ts";
import { watchConcurrentAdds } from "./concurrent-adds.ts";

/** Milliseconds since the machine was started; the kernel tells 10 000. */
const BEGUN = 10_006;

/** @param pauseMs for so long the GC waits for a processor when it has asked the kernel when it began, and again after each look at a clock */
function isConcurrent(succeededAt: number, pauseMs: number): boolean {
  const world = createLocalWorld();
  world.now = BEGUN + 20;
  const thenPause = (value: number): number => {
    world.now += pauseMs;
    return value;
  };
  const sinceStart = (): number => thenPause(world.now - BEGUN);
  Object.assign(world.call.host, {
    processStartSinceBoot: () => thenPause(10_000),
    sinceBoot: () => thenPause(world.now),
    clock: { ...world.clock, monotonic: sinceStart },
    processStart: () => thenPause(0),
  });
  world.files["/run/netplug/attached/net@c1@eth0"] = ["/run/netns/a", "1", "netplug", BEGUN - 50, 3, 2, succeededAt].join("\n");
  return watchConcurrentAdds(world.call).has({ containerID: "c1", ifName: "eth0" });
}

test.each([0, 1, 30])("an ADD that has succeeded before a GC began does not run beside it, however long the GC waits: %d ms", (pauseMs) => {
  expect(isConcurrent(BEGUN - 1, pauseMs)).toBe(false);
});

test.each([0, 1, 30])(
  "an ADD that has succeeded 10 ms after a GC began was under way then, however long the GC waits: %d ms",
  (pauseMs) => {
    expect(isConcurrent(BEGUN + 10, pauseMs)).toBe(true);
  },
);
