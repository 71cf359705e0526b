/** Full pools, namespaces and interfaces that vanish, and what a GC makes of very many leftovers. */

import { describe, expect, test } from "bun:test";
import type { Host } from "../../src/cni/host.ts";
import type { Json } from "../support/programs/cni-call.ts";
import { TestNetns } from "../support/node/netns.ts";
import { beforeStep } from "./support/at-step.ts";
import { eachStep, type Played } from "./support/enumerate.ts";
import { fastClock } from "../support/time/fast-clock.ts";
import { type Flow, HOST_LOCAL, NETPLUG, OTHER_MAIN, OWN_LINK_FLOWS, WITHOUT_WAIT } from "./support/flows.ts";
import { allocatedIn } from "./support/judge.ts";
import { createPool, type FaultNode } from "./support/node.ts";
import { shareEtcd } from "./support/shared.ts";
import { type Step, withSteps } from "./support/steps.ts";

const { startNode } = shareEtcd(async (server) => {
  await createPool(server, "tiny4", { cidr: "10.91.0.0/32", blockSize: 32 });
  await createPool(server, "tiny6", { cidr: "fd91::/128", blockSize: 128 });
  await createPool(server, "wide4", { cidr: "10.92.0.0/24", blockSize: 28 });
});

/** A config under which one attachment has all there is. */
function fullConfig(flow: Flow, node: FaultNode): Json {
  const ipam = flow.hasOwnIpam
    ? { type: "netplug-ipam", assign_ipv4: "true", assign_ipv6: "true", ipv4_pools: ["wide4"], ipv6_pools: ["tiny6"] }
    : {
        type: "host-local",
        dataDir: `${node.folder}/host-local`,
        ranges: [[{ subnet: "10.93.0.0/24" }], [{ subnet: "fd93::/126", rangeEnd: "fd93::2" }]],
      };
  return { ...WITHOUT_WAIT, ipam };
}

describe.each([
  [NETPLUG, 101, 'pool "tiny6"'],
  [OTHER_MAIN, 101, 'pool "tiny6"'],
  [HOST_LOCAL, 111, "no IP addresses available in range set: fd93::"],
] as const)("a full pool", (flow, code, text) => {
  test(`of one family is code ${code} and leaves nothing of the other: ${flow.name}`, async () => {
    await using node = await startNode(flow);
    const config = fullConfig(flow, node);
    const first = { containerID: `first${node.containerID}`, ifname: "eth1", config };
    expect((await node.call("ADD", first)).json?.ips).toHaveLength(2);
    const before = await node.changes();
    const refused = await node.call("ADD", { config });
    expect(refused.json).toMatchObject({ code, msg: expect.stringContaining(text) });
    expect(await node.changes()).toEqual(before);
    expect((await node.call("DEL", first)).stdout).toBe("");
    // What was released is given again.
    expect((await node.call("ADD", { config })).json?.ips).toHaveLength(2);
    expect((await node.call("DEL", { config })).stdout).toBe("");
    expect(allocatedIn(await node.changes())).toBe(0);
  });
});

describe.each(OWN_LINK_FLOWS)("$name", (flow) => {
  test("a namespace that is gone before the ADD is code 8", async () => {
    await using node = await startNode(flow);
    const gone = new TestNetns();
    gone.delete();
    expect((await node.call("ADD", { netns: gone.path })).json).toMatchObject({ code: 8, msg: expect.stringContaining("does not exist") });
    expect((await node.call("DEL", { netns: gone.path })).stdout).toBe("");
    expect(await node.verify()).toEqual([]);
  });

  test("a namespace that vanishes at any step of the ADD leaves nothing after the next DEL", async () => {
    await using node = await startNode(flow);
    const { faults, steps } = await eachStep({ moments: ["before"] }, async (at) => {
      using pod = new TestNetns();
      return await playVanishing(node, at, pod, () => pod.delete());
    });
    expect(faults).toEqual([]);
    expect(steps.length).toBeGreaterThan(10);
    expect(await node.verify()).toEqual([]);
  });

  test("an interface that somebody deletes at any step of the ADD as well", async () => {
    await using node = await startNode(flow);
    const { faults, steps } = await eachStep({ moments: ["before"] }, async (at) => {
      using pod = new TestNetns();
      return await playVanishing(node, at, pod, () => void pod.run(["ip", "link", "del", "eth0"]));
    });
    expect(faults).toEqual([]);
    expect(steps.length).toBeGreaterThan(10);
    expect(await node.verify()).toEqual([]);
  });
});

/** An ADD may fail, and has to leave nothing then; whatever it says, DEL succeeds and leaves nothing. */
async function playVanishing(node: FaultNode, at: number, pod: TestNetns, vanish: () => void): Promise<Played> {
  let struck: Step | undefined;
  const isTarget = (step: Step): boolean => step.number === at;
  const host = beforeStep((step) => {
    if (isTarget(step)) struck = step;
    return isTarget(step);
  }, vanish);
  const options = { netns: pod.path, config: WITHOUT_WAIT };
  const faults: string[] = [];
  const added = await node.call("ADD", { ...options, host });
  const changes = (await node.changes()).filter((change) => !/^left: host: (interface|route)/.test(change));
  if (added.status !== 0 && changes.length > 0) faults.push(`the ADD failed and left ${changes.join("; ")}: ${added.json?.msg}`);
  if (added.json?.code === 999) faults.push(`no clear error: ${added.stdout}`);
  const removed = await node.call("DEL", options);
  if (removed.status !== 0) faults.push(`DEL failed: ${removed.stdout}`);
  const left = await node.changes();
  if (left.length > 0) faults.push(`DEL left ${left.join("; ")}`);
  return { step: struck?.name, hasHalf: false, faults };
}

test("a wait for policy that outlasts the time of the ADD leaves nothing: the way back has time of its own", async () => {
  await using node = await startNode(NETPLUG);
  const clock = fastClock();
  const host = (real: Host): Host =>
    withSteps({ ...real, clock }, ({ group }, work) => {
      if (group === "watchDirectory") clock.speedUp(100);
      else if (group === "kernel") clock.speedUp(1);
      return work.whole();
    });
  // Nobody programs it.
  expect((await node.call("ADD", { host, config: { policy_setup_timeout_seconds: 90 } })).json).toMatchObject({ code: 110 });
  expect(await node.verify()).toEqual([]);
});

test("a GC of more than etcd takes in one transaction leaves nothing", async () => {
  await using node = await startNode(OTHER_MAIN);
  const ipam = { type: "netplug-ipam", ipv4_pools: ["wide4"] };
  for (let i = 0; i < 150; i++) expect((await node.call("ADD", { containerID: `gone${i}x`, config: { ipam } })).status).toBe(0);
  expect(allocatedIn(await node.changes())).toBe(150);
  expect((await node.call("GC")).stdout).toBe("");
  expect(allocatedIn(await node.changes())).toBe(0);
});
