/** The process is killed at every step of an ADD and of a DEL: whatever the runtime calls next sets it right. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { EtcdServer } from "../support/etcd.ts";
import { FLOWS, KUBERNETES } from "./support/flows.ts";
import { killAtEachStep } from "./support/kill-runs.ts";
import { FaultNode, startInitialisedEtcd } from "./support/node.ts";
import { portOf } from "./support/steps.ts";
import { buildVictim } from "./support/victims.ts";

let etcd: EtcdServer;
let folder: string;
let victim: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "npgt-victim-"));
  victim = buildVictim(folder);
  etcd = await startInitialisedEtcd();
});
afterAll(async () => {
  await etcd[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

describe.each(FLOWS)("$name", (flow) => {
  test.concurrent.each([
    ["ADD", "DEL"],
    ["ADD", "GC"],
    ["ADD", "ADD"],
    ["DEL", "DEL"],
    ["DEL", "GC"],
  ] as const)("killed at each step of an %s, then %s", async (verb, recovery) => {
    await using node = await FaultNode.start(etcd, flow);
    const { faults, steps } = await killAtEachStep(node, victim, verb, recovery);
    expect(faults).toEqual([]);
    expect(steps.length).toBeGreaterThan(4);
    expect(await node.verify()).toEqual([]);
  });
});

test.concurrent(`${KUBERNETES.name}: killed after each step of an ADD, then DEL`, async () => {
  await using node = await FaultNode.start(etcd, KUBERNETES);
  const { faults, steps } = await killAtEachStep(node, victim, "ADD", "DEL", ["after"]);
  expect(faults).toEqual([]);
  expect(steps.map(portOf)).toContain("openKube");
  expect(await node.verify()).toEqual([]);
});
