/** Every step of a DEL, and of a GC, fails: what can be done is done, and the next one does the rest. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Fd } from "../../src/linux/fd.ts";
import type { EtcdServer } from "../support/etcd.ts";
import { failEachStepOfRemoval } from "./support/fail-runs.ts";
import { FLOWS } from "./support/flows.ts";
import { FaultNode, startInitialisedEtcd } from "./support/node.ts";

let etcd: EtcdServer;
const openBefore = Fd.openCount();
beforeAll(async () => {
  etcd = await startInitialisedEtcd();
});
afterAll(async () => {
  await etcd[Symbol.asyncDispose]();
  // What was under way when a test ended comes to its end.
  for (let look = 0; look < 100 && Fd.openCount() > openBefore; look++) await Bun.sleep(20);
  expect(Fd.openCount()).toBe(openBefore);
});

describe.each(FLOWS)("$name", (flow) => {
  test.concurrent.each([
    ["DEL", "one step", false],
    ["DEL", "a step and all that follow", true],
    ["GC", "one step", false],
  ] as const)("after a %s of which %s failed the next one leaves nothing", async (verb, _, isLasting) => {
    await using node = await FaultNode.start(etcd, flow);
    const { faults, steps } = await failEachStepOfRemoval(node, verb, { isLasting });
    expect(faults).toEqual([]);
    expect(steps.length).toBeGreaterThan(4);
    expect(await node.verify()).toEqual([]);
  });
});
