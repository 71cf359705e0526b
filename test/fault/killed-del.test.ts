/** A DEL that is killed, and that nobody repeats: containerd forgets a sandbox whose ADD has failed, whatever becomes of the DEL after it. */

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "bun:test";
import type { Host } from "../../src/cni/host.ts";
import { KubeError } from "../../src/kube/kube-error.ts";
import { ENFILE } from "../../src/linux/errno.ts";
import { KernelError } from "../../src/linux/kernel-error.ts";
import { eventually } from "../support/time/eventually.ts";
import { TestNetns } from "../support/node/netns.ts";
import { pendingReleasesOf } from "../support/node/pending-releases.ts";
import { eachStep } from "./support/enumerate.ts";
import { KUBERNETES, NETPLUG, WITHOUT_WAIT } from "./support/flows.ts";
import { allocatedIn, hasLink } from "./support/judge.ts";
import { type CallOptions, type FaultNode, LATER } from "./support/node.ts";
import { shareEtcd, shareVictim } from "./support/shared.ts";
import { serveUnmanagedPod } from "./support/unmanaged-pod.ts";

const { startNode } = shareEtcd();
const victim = shareVictim();

test.concurrent.each([
  ["that reaches its datastore", {}],
  ["that cannot reach its datastore", { etcd_endpoints: "http://127.0.0.1:1" }],
  ["whose network config names no usable datastore", { etcd_endpoints: "ftp://127.0.0.1" }],
  // as after another interface's ADD has failed; else the runtime did not hear the result, and gives none to the DEL
  ["whose runtime knows the ADD's result", "prevResult"],
] as const)("what one %s had not released by then, a later DEL of the node does once the namespace is gone", async (_which, given) => {
  await using node = await startNode(NETPLUG);
  const { faults, steps } = await eachStep({ moments: ["before", "after"], stopsAtFault: true }, async (at, moment) => {
    using pod = new TestNetns();
    const ofPod = { netns: pod.path, config: WITHOUT_WAIT };
    const { status, json } = await node.call("ADD", ofPod);
    expect(status).toBe(0);
    const config = { ...WITHOUT_WAIT, ...(given === "prevResult" ? { prevResult: json } : given) };
    const { killedAt, hasHalf } = await node.callVictim(victim.program, "DEL", at, moment, { ...ofPod, config });
    pod.delete();
    await untilGone(node);
    await delLater(node);
    if (node.isHeld()) throw new Error("the hold is left");
    return { step: killedAt, hasHalf, faults: [...(await node.changes()), ...pendingReleasesOf(node)] };
  });
  expect(faults).toEqual([]);
  expect(steps.length).toBeGreaterThan(4);
  expect(await node.verify()).toEqual([]);
});

test.concurrent("is not made up for while the namespace stands", async () => {
  await using node = await startNode(NETPLUG);
  using pod = new TestNetns();
  const ofPod = { netns: pod.path, config: WITHOUT_WAIT };
  expect((await node.call("ADD", ofPod)).status).toBe(0);
  await killDelAtHold(node, ofPod);
  await delLater(node);
  expect(allocatedIn(await node.changes())).toBe(2);
  pod.delete();
  await untilGone(node);
  await delLater(node);
  expect(pendingReleasesOf(node)).toEqual([]);
  expect(await node.verify()).toEqual([]);
});

test.concurrent("is made up for only when the interface is gone, too, which lives as long as somebody has the namespace", async () => {
  await using node = await startNode(NETPLUG);
  using pod = new TestNetns();
  const ofPod = { netns: pod.path, config: WITHOUT_WAIT };
  {
    await using _user = useNetns(pod);
    expect((await node.call("ADD", ofPod)).status).toBe(0);
    await killDelAtHold(node, ofPod);
    pod.delete();
    await delLater(node);
    const changes = await node.changes();
    expect([hasLink(changes), allocatedIn(changes)]).toEqual([true, 2]);
  }
  await untilGone(node);
  await delLater(node);
  expect(pendingReleasesOf(node)).toEqual([]);
  expect(await node.verify()).toEqual([]);
});

test.concurrent("is made up for only when the interface is gone, too, if it had not begun", async () => {
  await using node = await startNode(NETPLUG);
  using pod = new TestNetns();
  const ofPod = { netns: pod.path, config: WITHOUT_WAIT };
  {
    await using _user = useNetns(pod);
    expect((await node.call("ADD", ofPod)).status).toBe(0);
    pod.delete();
    await failLater(node);
    const changes = await node.changes();
    // a late ADD of the container, in another namespace, must learn of the one that has the addresses
    expect([node.isHeld(), pendingReleasesOf(node), hasLink(changes), allocatedIn(changes)]).toEqual([true, [], true, 2]);
  }
  await untilGone(node);
  await failLater(node);
  expect([node.isHeld(), pendingReleasesOf(node)]).toEqual([false, []]);
  expect(await node.verify()).toEqual([]);
});

test.concurrent("is made up for by the next DEL after an ADD that failed, however many other pods the node has", async () => {
  await using node = await startNode(NETPLUG);
  using pod = new TestNetns();
  using others = new TestNetns();
  expect((await node.call("ADD", { netns: pod.path, config: WITHOUT_WAIT })).status).toBe(0);
  const hold = readFileSync(join(node.folder, "attached", node.attachmentFile), "utf8");
  for (let other = 0; other < 200; other++)
    writeFileSync(join(node.folder, "attached", `${node.name}-net@other-${String(other)}@eth0`), hold.replace(pod.path, others.path));
  pod.delete();
  await untilGone(node);
  await failLater(node);
  expect(node.isHeld()).toBe(false);
  expect(await node.verify()).toEqual([]);
});

test.concurrent("is made up for where an ADD that failed had noted the release, and was killed as well", async () => {
  await using node = await startNode(NETPLUG);
  using pod = new TestNetns();
  expect((await node.call("ADD", { netns: pod.path, config: WITHOUT_WAIT })).status).toBe(0);
  mkdirSync(join(node.folder, "unreleased"));
  writeFileSync(join(node.folder, "unreleased", node.attachmentFile), "\n0\n\n");
  pod.delete();
  await untilGone(node);
  await failLater(node);
  expect([node.isHeld(), pendingReleasesOf(node)]).toEqual([false, []]);
  expect(await node.verify()).toEqual([]);
});

test.concurrent("a DEL that comes late, when the namespace is gone, does not count itself among those that were killed", async () => {
  await using node = await startNode(NETPLUG);
  using pod = new TestNetns();
  const ofPod = { netns: pod.path, config: WITHOUT_WAIT };
  expect((await node.call("ADD", ofPod)).status).toBe(0);
  pod.delete();
  await untilGone(node);
  const locks: string[] = [];
  const later = (real: Host): Host => ({
    ...real,
    sinceBoot: () => real.sinceBoot() + 60_001,
    takeLock: (path, waitMs) => (locks.push(path), real.takeLock(path, waitMs)),
  });
  expect((await node.call("DEL", { ...ofPod, host: later })).stdout).toBe("");
  // nobody's release was pending
  expect([node.isHeld(), locks.filter((path) => path.includes("unreleased"))]).toEqual([false, []]);
  expect(await node.verify()).toEqual([]);
});

test.concurrent("a DEL that cannot delete the interface leaves the release to others as well", async () => {
  await using node = await startNode(NETPLUG);
  using pod = new TestNetns();
  const ofPod = { netns: pod.path, config: WITHOUT_WAIT };
  expect((await node.call("ADD", ofPod)).status).toBe(0);
  const stuck = (real: Host): Host => ({
    ...real,
    kernel: {
      ...real.kernel,
      openRouteSocket() {
        throw new KernelError({ operation: "open", object: "netlink socket", errno: ENFILE });
      },
    },
  });
  expect((await node.call("DEL", { ...ofPod, host: stuck })).status).toBe(1);
  expect([node.isHeld(), hasLink(await node.changes())]).toEqual([false, true]);
  pod.delete();
  await untilGone(node);
  await delLater(node);
  expect(pendingReleasesOf(node)).toEqual([]);
  expect(await node.verify()).toEqual([]);
});

test.concurrent("so does one to which something answers that stands in front of an API server", async () => {
  await using node = await startNode(NETPLUG);
  using pod = new TestNetns();
  const ofPod = { netns: pod.path, config: WITHOUT_WAIT };
  expect((await node.call("ADD", ofPod)).status).toBe(0);
  const answered = (real: Host): Host => ({
    ...real,
    openDatastore: (...args) =>
      new Proxy(real.openDatastore(...args), {
        get(datastore, name) {
          if (name === "read")
            return () => Promise.reject(new KubeError("unexpected", "list ipamblocks.netplug.io: the API server answers 302"));
          const member: unknown = Reflect.get(datastore, name);
          return typeof member === "function" ? (member.bind(datastore) as unknown) : member;
        },
      }),
  });
  expect((await node.call("DEL", { ...ofPod, host: answered })).status).toBe(1);
  expect(allocatedIn(await node.changes())).toBe(2);
  pod.delete();
  await untilGone(node);
  await delLater(node);
  expect(pendingReleasesOf(node)).toEqual([]);
  expect(await node.verify()).toEqual([]);
});

test.concurrent.each([
  ["while the namespace stands", { laterMs: 60_001, isGone: false }],
  ["while the ADD may be under way", { laterMs: 0, isGone: true }],
])("is not made up for, if it had not begun, %s", async (_when, { laterMs, isGone }) => {
  await using node = await startNode(NETPLUG);
  using pod = new TestNetns();
  const ofPod = { netns: pod.path, config: WITHOUT_WAIT };
  expect((await node.call("ADD", ofPod)).status).toBe(0);
  if (isGone) pod.delete();
  await failLater(node, laterMs);
  expect([node.isHeld(), allocatedIn(await node.changes())]).toEqual([true, 2]);
  expect((await node.call("DEL", ofPod)).status).toBe(0);
  if (isGone) await untilGone(node);
  expect(await node.verify()).toEqual([]);
});

test.concurrent("files that killed calls left unfinished go with a later DEL of the node", async () => {
  await using node = await startNode(NETPLUG);
  const write = (kind: string, name: string): void => {
    mkdirSync(join(node.folder, kind), { recursive: true });
    writeFileSync(join(node.folder, kind, name), "");
  };
  // no process has so great a number
  for (const kind of ["attached", "unreleased", "dns"]) write(kind, `${node.attachmentFile}.4194305.0.tmp`);
  const others = [`${node.attachmentFile}.${String(process.pid)}.0.tmp`, "another-net@c@eth0.4194305.0.tmp"];
  for (const name of others) write("attached", name);
  await delLater(node);
  const left = ["attached", "unreleased", "dns"].flatMap((kind) => readdirSync(join(node.folder, kind)));
  expect(left.filter((name) => name.endsWith(".tmp")).toSorted()).toEqual(others.toSorted());
});

test.concurrent.each(["GC", "DEL"] as const)(
  "those that are about no attachment go with a GC, or a DEL after an ADD that failed: %s",
  async (verb) => {
    await using node = await startNode(NETPLUG);
    using pod = new TestNetns();
    const ofPod = { netns: pod.path, config: { ...WITHOUT_WAIT, ipam: { type: "netplug-ipam", ipv4_pools: ["none"] } } };
    mkdirSync(join(node.folder, "etcd-tokens"));
    const unfinished = ["ipam.lock.work", "blocks.json", "next-add.any-net.json", "status.any-net", "etcd-tokens/1f"].map(
      (name) => `${name}.4194305.0.tmp`,
    );
    const others = [`blocks.json.${String(process.pid)}.0.tmp`, "somebody-elses.4194305.0.tmp", "blocks.json.4194305.tmp"];
    for (const name of [...unfinished, ...others]) writeFileSync(join(node.folder, name), "");
    if (verb === "DEL") expect((await node.call("ADD", ofPod)).json?.code).toBe(100);
    expect((await node.call(verb, ofPod)).stdout).toBe("");
    const left = readdirSync(node.folder, { recursive: true, encoding: "utf8" });
    expect(left.filter((name) => name.endsWith(".tmp")).toSorted()).toEqual(others.toSorted());
  },
);

test.concurrent.each([
  ["that fails", "192.0.2.7", failDel, {}],
  ["that is killed", "192.0.2.8", killDelAtHold, {}],
  ["that fails, where the network is another main plugin's by then", "192.0.2.10", failDel, { plugin: "netplug-ipam" }],
] as const)("a record without addresses of ours is removed for a DEL %s", async (_which, address, end, later) => {
  using server = serveUnmanagedPod(address);
  await using node = await startNode(KUBERNETES);
  using pod = new TestNetns();
  const config = { kubernetes: { k8s_api_root: server.url.href }, feature_control: { ip_addrs_no_ipam: true } };
  const ofPod = { netns: pod.path, config };
  expect((await node.call("ADD", ofPod)).json?.ips).toMatchObject([{ address: `${address}/32` }]);
  await end(node, ofPod);
  pod.delete();
  await untilGone(node);
  expect(await node.changes()).toHaveLength(1);
  await delLater(node, later);
  expect(await node.verify()).toEqual([]);
});

/** Calls one that cannot reach its datastore. */
async function failDel(node: FaultNode, ofPod: CallOptions): Promise<void> {
  const config = { ...ofPod.config, etcd_endpoints: "http://127.0.0.1:1" };
  expect((await node.call("DEL", { ...ofPod, config })).json?.code).toBe(11);
}

/** Kills DELs at one step after the other, until one has ended the hold before. */
async function killDelAtHold(node: FaultNode, ofPod: CallOptions): Promise<void> {
  for (let at = 1; node.isHeld(); at++) await node.callVictim(victim.program, "DEL", at, "after", ofPod);
}

/** A process in the namespace, which lives on with it when its name is gone. */
function useNetns(pod: TestNetns): AsyncDisposable {
  const user = Bun.spawn(["nsenter", `--net=${pod.path}`, "sleep", "infinity"], { stdin: "ignore", stdout: "ignore", stderr: "ignore" });
  return {
    async [Symbol.asyncDispose]() {
      user.kill();
      await user.exited;
    },
  };
}

/** A DEL of another container, when no ADD of now can be under way any more. */
async function delLater(node: FaultNode, options: CallOptions = {}): Promise<void> {
  const ofAnother = { ...LATER, config: WITHOUT_WAIT, ...options };
  expect((await node.callVictim(victim.program, "DEL", 0, "before", ofAnother)).reply.stdout).toBe("");
}

/** A DEL of another container whose ADD has failed, for all that the runtime knows. */
async function failLater(node: FaultNode, laterMs = 60_001): Promise<void> {
  using other = new TestNetns();
  const ofOther = { containerID: "other", netns: other.path, config: WITHOUT_WAIT };
  expect((await node.call("ADD", ofOther)).status).toBe(0);
  expect((await node.callVictim(victim.program, "DEL", 0, "before", { ...ofOther, laterMs })).reply.stdout).toBe("");
}

/** The kernel ends a namespace, and interfaces in it, some time after its name. */
async function untilGone(node: FaultNode): Promise<void> {
  await eventually(async () => expect(hasLink(await node.changes())).toBe(false));
}
