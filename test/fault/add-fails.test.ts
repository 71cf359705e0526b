/** Every step of an ADD fails: nothing is left, or the error says what the next DEL takes away, and it does. */

import { describe, expect, test } from "bun:test";
import { realHost } from "../../src/cni/real-host.ts";
import { failEachStepOfAdd } from "./support/fail-runs.ts";
import { FLOWS, KUBERNETES } from "./support/flows.ts";
import { expectDescriptorsClosed, shareEtcd } from "./support/shared.ts";
import { canFail, portOf } from "./support/steps.ts";

/** Ports of the host of which some step was met. */
const met = new Set<string>();
const { startNode } = shareEtcd();
expectDescriptorsClosed();

describe.each([...FLOWS, KUBERNETES])("$name", (flow) => {
  test.concurrent.each([
    ["one step of an ADD that fails leaves nothing", false],
    ["a step of an ADD that fails with all that follow leaves nothing that is not told", true],
  ])("%s", async (_, isLasting) => {
    await using node = await startNode(flow);
    const { faults, steps } = await failEachStepOfAdd(node, { isLasting });
    expect(faults).toEqual([]);
    expect(steps.length).toBeGreaterThan(4);
    expect(await node.verify()).toEqual([]);
    for (const step of steps) met.add(portOf(step));
  });
});

test("every port of the host that can fail is met by some ADD", () => {
  const all = Object.keys(realHost()).filter((port) => canFail(port));
  // Each flow names its node.
  expect(all.filter((port) => !met.has(port))).toEqual(["hostName"]);
});
