/** Calls of `netplug-ipam` that are killed at each step, and what becomes of their addresses. */

import { expect, test } from "bun:test";
import { TestNetns } from "../support/node/netns.ts";
import { holdsOf, pendingReleasesOf } from "../support/node/pending-releases.ts";
import { eachStep } from "./support/enumerate.ts";
import { IPAM_ALONE } from "./support/flows.ts";
import { ANOTHER, type CallOptions, type FaultNode, LATER } from "./support/node.ts";
import { shareEtcd, shareVictim } from "./support/shared.ts";

const { startNode } = shareEtcd();
const victim = shareVictim();

/** To an etcd that is away. */
const AWAY = { etcd_endpoints: "http://127.0.0.1:1" };

async function expectDel(node: FaultNode, options: CallOptions): Promise<void> {
  expect((await node.callVictim(victim.program, "DEL", 0, "before", options)).reply.stdout).toBe("");
}

test.concurrent(
  "an ADD that is killed, and for which nobody calls DEL: once its namespace is gone the next DEL leaves nothing",
  async () => {
    await using node = await startNode(IPAM_ALONE);
    const { faults, steps } = await eachStep({ moments: ["before", "after"] }, async (at, moment) => {
      using pod = new TestNetns();
      const { killedAt, hasHalf, reply } = await node.callVictim(victim.program, "ADD", at, moment, { netns: pod.path });
      const found: string[] = [];
      if (killedAt === undefined && reply.status !== 0) found.push(`nothing was killed, but it failed: ${reply.stdout}`);
      const pending = pendingReleasesOf(node);
      // Its last step: all was done, and DEL is called for it as for any other.
      if (killedAt === undefined || (killedAt === "files.remove" && moment === "after")) await expectDel(node, { netns: pod.path });
      await expectDel(node, LATER);
      pod.delete();
      await expectDel(node, LATER);
      const changes = await node.changes();
      if (changes.length > 0) found.push(changes.join("; "));
      found.push(...pendingReleasesOf(node).map((name) => `still pending: ${name}`));
      found.push(...holdsOf(node).flatMap((name) => (pending.includes(name) ? [`still held: ${name}`] : [])));
      return { step: killedAt, hasHalf, faults: found };
    });
    expect(faults).toEqual([]);
    expect(steps).toContainEqual(expect.stringContaining("commit"));
    expect(await node.verify()).toEqual([]);
  },
);

test.concurrent("an ADD that is killed after a DEL that failed: what that left to release is not forgotten", async () => {
  await using node = await startNode(IPAM_ALONE);
  const { faults, steps } = await eachStep({ moments: ["before", "after"] }, async (at, moment) => {
    using pod = new TestNetns();
    expect((await node.call("ADD", { netns: pod.path })).status).toBe(0);
    expect((await node.call("DEL", { netns: pod.path, config: AWAY })).json?.code).toBe(11);
    const { killedAt, hasHalf } = await node.callVictim(victim.program, "ADD", at, moment, { netns: pod.path });
    // Its last step: all was done, and DEL is called for it as for any other.
    if (killedAt === undefined || (killedAt === "files.remove" && moment === "after")) await expectDel(node, { netns: pod.path });
    pod.delete();
    await expectDel(node, LATER);
    return { step: killedAt, hasHalf, faults: await node.changes() };
  });
  expect(faults).toEqual([]);
  expect(steps).toContainEqual(expect.stringContaining("commit"));
  expect(await node.verify()).toEqual([]);
});

test.concurrent.each([
  ["that reaches its datastore", {}],
  ["that cannot reach its datastore", AWAY],
  ["whose network config names no usable datastore", { etcd_endpoints: "ftp://127.0.0.1" }],
])(
  "a DEL %s, that is killed, and that nobody repeats: what it had begun to release, the next one does once the namespace is gone",
  async (_which, config) => {
    await using node = await startNode(IPAM_ALONE);
    const { faults, steps } = await eachStep({ moments: ["before", "after"] }, async (at, moment) => {
      using pod = new TestNetns();
      expect((await node.call("ADD", { netns: pod.path })).status).toBe(0);
      const { killedAt, hasHalf } = await node.callVictim(victim.program, "DEL", at, moment, { netns: pod.path, config });
      // As if nobody had called it.
      if (node.isHeld()) await expectDel(node, { netns: pod.path });
      pod.delete();
      await expectDel(node, LATER);
      return { step: killedAt, hasHalf, faults: [...(await node.changes()), ...pendingReleasesOf(node)] };
    });
    expect(faults).toEqual([]);
    expect(steps.length).toBeGreaterThan(2);
    expect(await node.verify()).toEqual([]);
  },
);

test.concurrent("a DEL that is killed while it releases for another: the next one does the rest", async () => {
  await using node = await startNode(IPAM_ALONE);
  const { faults, steps } = await eachStep({ moments: ["before", "after"] }, async (at, moment) => {
    using pod = new TestNetns();
    expect((await node.call("ADD", { netns: pod.path })).status).toBe(0);
    expect((await node.call("DEL", { netns: pod.path, config: AWAY })).json?.code).toBe(11);
    pod.delete();
    const { killedAt, hasHalf } = await node.callVictim(victim.program, "DEL", at, moment, ANOTHER);
    await expectDel(node, ANOTHER);
    return { step: killedAt, hasHalf, faults: await node.changes() };
  });
  expect(faults).toEqual([]);
  expect(steps).toContainEqual(expect.stringContaining("commit"));
  expect(await node.verify()).toEqual([]);
});
