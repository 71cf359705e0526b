/** The process is killed at every step of an ADD and of a DEL: whatever the runtime calls next sets it right. */

import { describe, expect, test } from "bun:test";
import { FLOWS, KUBERNETES } from "./support/flows.ts";
import { killAtEachStep } from "./support/kill-runs.ts";
import { shareEtcd, shareVictim } from "./support/shared.ts";
import { portOf } from "./support/steps.ts";

const { startNode } = shareEtcd();
const victim = shareVictim();

describe.each(FLOWS)("$name", (flow) => {
  test.concurrent.each([
    ["ADD", "DEL"],
    ["ADD", "GC"],
    ["ADD", "ADD"],
    ["DEL", "DEL"],
    ["DEL", "GC"],
  ] as const)("killed at each step of an %s, then %s", async (verb, recovery) => {
    await using node = await startNode(flow);
    const { faults, steps } = await killAtEachStep(node, victim.program, verb, recovery);
    expect(faults).toEqual([]);
    expect(steps.length).toBeGreaterThan(4);
    expect(await node.verify()).toEqual([]);
  });
});

test.concurrent(`${KUBERNETES.name}: killed after each step of an ADD, then DEL`, async () => {
  await using node = await startNode(KUBERNETES);
  const { faults, steps } = await killAtEachStep(node, victim.program, "ADD", "DEL", ["after"]);
  expect(faults).toEqual([]);
  expect(steps.map(portOf)).toContain("openKube");
  expect(await node.verify()).toEqual([]);
});
