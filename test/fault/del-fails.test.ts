/** Every step of a DEL, and of a GC, fails: what can be done is done, and the next one does the rest. */

import { describe, expect, test } from "bun:test";
import { failEachStepOfRemoval } from "./support/fail-runs.ts";
import { FLOWS } from "./support/flows.ts";
import { expectDescriptorsClosed, shareEtcd } from "./support/shared.ts";

const { startNode } = shareEtcd();
expectDescriptorsClosed();

describe.each(FLOWS)("$name", (flow) => {
  test.concurrent.each([
    ["DEL", "one step", false],
    ["DEL", "a step and all that follow", true],
    ["GC", "one step", false],
  ] as const)("after a %s of which %s failed the next one leaves nothing", async (verb, _, isLasting) => {
    await using node = await startNode(flow);
    const { faults, steps } = await failEachStepOfRemoval(node, verb, { isLasting });
    expect(faults).toEqual([]);
    expect(steps.length).toBeGreaterThan(4);
    expect(await node.verify()).toEqual([]);
  });
});
