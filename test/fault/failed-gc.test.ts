/** A GC that does not come to its end: a runtime calls the next one when it is started again, so the node's next DEL does what is left. */

import { expect, test } from "bun:test";
import { TestNetns } from "../support/node/netns.ts";
import { pendingReleasesOf } from "../support/node/pending-releases.ts";
import { eventually } from "../support/time/eventually.ts";
import { eachStep } from "./support/enumerate.ts";
import { HOST_LOCAL, IPAM_ALONE, NETPLUG, WITHOUT_WAIT } from "./support/flows.ts";
import { allocatedIn, hasLink } from "./support/judge.ts";
import { type FaultNode, LATER } from "./support/node.ts";
import { shareEtcd, shareVictim } from "./support/shared.ts";

const { startNode } = shareEtcd();
const victim = shareVictim();

/** Another container's, when no ADD of now can be under way any more. */
async function delLater(node: FaultNode): Promise<void> {
  expect((await node.callVictim(victim.program, "DEL", 0, "before", { ...LATER, config: WITHOUT_WAIT })).reply.stdout).toBe("");
}

test.concurrent.each([NETPLUG, IPAM_ALONE])(
  "what one does not release that cannot reach its datastore, a later DEL does once the namespace is gone: $name",
  async (flow) => {
    await using node = await startNode({ ...flow, waits: false });
    using pod = new TestNetns();
    expect((await node.call("ADD", { netns: pod.path, config: WITHOUT_WAIT })).status).toBe(0);
    expect((await node.call("GC", { config: { etcd_endpoints: "http://127.0.0.1:1" } })).json?.code).toBe(11);
    await delLater(node);
    expect(allocatedIn(await node.changes())).toBe(2);
    pod.delete();
    await delLater(node);
    expect(pendingReleasesOf(node)).toEqual([]);
    expect(await node.verify()).toEqual([]);
  },
);

test.concurrent.each([
  [NETPLUG.name, "its namespace", NETPLUG, false],
  [NETPLUG.name, "another one", NETPLUG, true],
  [IPAM_ALONE.name, "its namespace", IPAM_ALONE, false],
  [IPAM_ALONE.name, "another one", IPAM_ALONE, true],
])(
  "what a failed one has noted releases nothing that a later ADD of the container has: %s in %s",
  async (_name, _where, flow, isElsewhere) => {
    await using node = await startNode({ ...flow, waits: false });
    using pod = new TestNetns();
    using other = new TestNetns();
    const { path: netns } = isElsewhere ? other : pod;
    expect((await node.call("ADD", { netns: pod.path, config: WITHOUT_WAIT })).status).toBe(0);
    expect((await node.call("GC", { config: { etcd_endpoints: "http://127.0.0.1:1" } })).json?.code).toBe(11);
    expect(pendingReleasesOf(node)).toEqual([node.attachmentFile]);
    expect((await node.call("ADD", { netns, config: WITHOUT_WAIT })).status).toBe(0);
    if (isElsewhere) pod.delete();
    await delLater(node);
    expect([allocatedIn(await node.changes()), pendingReleasesOf(node)]).toEqual([2, []]);
    expect((await node.call("DEL", { netns })).stdout).toBe("");
    expect([await node.verify(), pendingReleasesOf(node)]).toEqual([[], []]);
  },
);

test.concurrent("where a delegate gives the addresses, one notes nothing: no DEL could release those of another attachment", async () => {
  await using node = await startNode(HOST_LOCAL);
  expect((await node.call("ADD")).status).toBe(0);
  expect((await node.call("GC", { config: { etcd_endpoints: "http://127.0.0.1:1" } })).json?.code).toBe(11);
  expect(pendingReleasesOf(node)).toEqual([]);
  expect((await node.call("DEL")).stdout).toBe("");
  expect(await node.verify()).toEqual([]);
});

test.concurrent.each([NETPLUG, IPAM_ALONE])("one that comes to its end leaves nothing to release: $name", async (flow) => {
  await using node = await startNode({ ...flow, waits: false });
  expect((await node.call("ADD", { config: WITHOUT_WAIT })).status).toBe(0);
  expect((await node.call("GC")).stdout).toBe("");
  expect(pendingReleasesOf(node)).toEqual([]);
  expect(await node.verify()).toEqual([]);
});

test.concurrent.each([NETPLUG, IPAM_ALONE])(
  "what one does not release that is killed, a later DEL does once the namespace is gone: $name",
  async (flow) => {
    await using node = await startNode({ ...flow, waits: false });
    const { faults, steps } = await eachStep({ moments: ["before", "after"] }, async (at, moment) => {
      using pod = new TestNetns();
      const ofPod = { netns: pod.path, config: WITHOUT_WAIT };
      expect((await node.call("ADD", ofPod)).status).toBe(0);
      const { killedAt, hasHalf } = await node.callVictim(victim.program, "GC", at, moment);
      // As if nobody had called it.
      if (node.isHeld()) expect((await node.call("DEL", ofPod)).status).toBe(0);
      pod.delete();
      await eventually(async () => expect(hasLink(await node.changes())).toBe(false));
      await delLater(node);
      return { step: killedAt, hasHalf, faults: [...(await node.changes()), ...pendingReleasesOf(node)] };
    });
    expect(faults).toEqual([]);
    expect(steps.length).toBeGreaterThan(4);
    expect(await node.verify()).toEqual([]);
  },
);
