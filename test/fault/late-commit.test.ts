/** A commit of an ADD that is over, and that arrives after its DEL: containerd calls no other, and makes no GC. */

import { rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "bun:test";
import { CorruptBlock } from "../../src/api/ipam-block-codec.ts";
import type { Host } from "../../src/cni/host.ts";
import { realHost } from "../../src/cni/real-host.ts";
import type { CommitResult, Datastore, Write } from "../../src/datastore/datastore.ts";
import { OutcomeUnknown } from "../../src/datastore/outcome-unknown.ts";
import { NetplugError } from "../../src/lib/errors.ts";
import { parsePrefix } from "../../src/lib/ip/prefix.ts";
import { openNetns } from "../../src/linux/netns.ts";
import { TestNetns } from "../support/node/netns.ts";
import { pendingReleasesOf } from "../support/node/pending-releases.ts";
import { beforeStep, isCommit } from "./support/at-step.ts";
import { IPAM_ALONE, KUBERNETES, NETPLUG, WITHOUT_WAIT } from "./support/flows.ts";
import { allocatedIn } from "./support/judge.ts";
import { ANOTHER, createPool, type FaultNode } from "./support/node.ts";
import { shareEtcd } from "./support/shared.ts";
import { serveUnmanagedPod } from "./support/unmanaged-pod.ts";

const { startNode } = shareEtcd();

type Change = (real: Host) => Host;

/** A host on whose datastore some operations go otherwise. */
const withDatastore =
  (change: (datastore: Datastore) => Partial<Datastore>): Change =>
  (real) => ({
    ...real,
    openDatastore: (...args) => {
      const datastore = real.openDatastore(...args);
      const changed = change(datastore);
      return new Proxy(datastore, {
        get(target, key) {
          const value: unknown = Reflect.get(changed, key) ?? Reflect.get(target, key, target);
          return typeof value === "function" ? (value.bind(target) as unknown) : value;
        },
      });
    },
  });

const noAnswer = (): Promise<never> => Promise.reject(new OutcomeUnknown("test: no answer"));

const away = withDatastore(() => ({ read: noAnswer, commit: noAnswer }));

/** The end of etcd's answers. */
interface Away {
  /** Whether etcd answers again at once, but has not got that commit. */
  readonly isBack?: boolean;
  /** What it answers then. */
  readonly after?: Partial<Record<"read" | "commit", () => Promise<never>>>;
}

/** The first commit is kept instead of sent, and from then on etcd is away. */
function withLateCommit({ isBack = false, after = {} }: Away = {}): {
  readonly host: Change;
  readonly apply: (node: FaultNode) => Promise<void>;
} {
  let late: readonly Write[] = [];
  return {
    host: withDatastore((datastore) => ({
      read(...args) {
        if (late.length === 0) return datastore.read(...args);
        return isBack ? (after.read?.() ?? datastore.read(...args)) : noAnswer();
      },
      commit(writes) {
        if (late.length > 0 && after.commit !== undefined) return after.commit();
        late = writes;
        return noAnswer();
      },
    })),
    async apply(node) {
      expect((await commitTo(node, late)).committed).toBe(true);
    },
  };
}

async function commitTo({ etcd }: FaultNode, writes: readonly Write[]): Promise<CommitResult<readonly []>> {
  const datastore = realHost().openDatastore({ type: "etcdv3", etcd: { endpoints: [etcd.endpoint] } });
  try {
    return await datastore.commit(writes);
  } finally {
    datastore.close();
  }
}

/** Something happens once a commit has begun, and with it what the plugin does beside it. */
const duringCommit = (happen: () => void): Change =>
  withDatastore((datastore) => ({
    async commit(writes) {
      await Bun.sleep(0);
      happen();
      return await datastore.commit(writes);
    },
  }));

const later =
  (ms: number) =>
  (real: Host): Host => ({ ...real, clock: { ...real.clock, now: () => real.clock.now() + ms } });

/** The first commit of the ADD is kept. @returns what further calls for the pod have in common, and how the commit arrives */
async function addThatGivesUp(node: FaultNode, { path }: Pick<TestNetns, "path">) {
  const ofPod = { netns: path, config: WITHOUT_WAIT };
  const { host, apply } = withLateCommit();
  expect((await node.call("ADD", { ...ofPod, host })).json?.code).toBe(11);
  return { ofPod, apply };
}

/** Who is killed leaves no pending release. */
function asIfKilled(node: FaultNode): void {
  for (const name of pendingReleasesOf(node)) rmSync(join(node.folder, "unreleased", name));
}

/** The commit has arrived: the last DEL that looks for it releases what it allocated, and leaves nothing to look for. */
async function expectReleasedByLastLook(node: FaultNode): Promise<void> {
  expect(allocatedIn(await node.changes())).toBe(2);
  expect((await node.call("DEL", { ...ANOTHER, host: later(60_001) })).stdout).toBe("");
  expect(pendingReleasesOf(node)).toEqual([]);
  expect(await node.verify()).toEqual([]);
}

test.concurrent("what an ADD has sent that gave up is released by the next DEL after its arrival", async () => {
  await using node = await startNode(NETPLUG);
  using pod = new TestNetns();
  const { ofPod, apply } = await addThatGivesUp(node, pod);
  expect((await node.call("DEL", ofPod)).stdout).toBe("");
  expect(await node.changes()).toEqual([]);
  expect((await node.call("DEL", ANOTHER)).stdout).toBe("");
  await apply(node);
  expect(allocatedIn(await node.changes())).toBe(2);
  expect((await node.call("DEL", ANOTHER)).stdout).toBe("");
  expect(await node.changes()).toEqual([]);
  // nothing arrives after a minute
  expect(pendingReleasesOf(node)).toHaveLength(1);
  expect((await node.call("DEL", { ...ANOTHER, host: later(60_001) })).stdout).toBe("");
  expect(pendingReleasesOf(node)).toEqual([]);
  expect(await node.verify()).toEqual([]);
});

test.concurrent("what an ADD has sent that got no reply is refused when the ADD had to send it again, in a new block, too", async () => {
  await using node = await startNode(NETPLUG);
  using pod = new TestNetns();
  // one slot of very many
  const pool = `${node.name}-more`;
  await createPool(node.etcd, pool, { cidr: "10.71.0.0/16", blockSize: 28 });
  const ofPod = { netns: pod.path, config: { ...WITHOUT_WAIT, ipam: { type: "netplug-ipam", ipv4_pools: [pool] } } };
  let late: readonly Write[] = [];
  const host = withDatastore((datastore) => ({
    commit(...args) {
      if (late.length > 0) return datastore.commit(...args);
      late = args[0];
      return noAnswer();
    },
  }));
  expect((await node.call("ADD", { ...ofPod, host })).json?.ips).toHaveLength(1);
  expect((await node.call("DEL", ofPod)).stdout).toBe("");
  expect((await commitTo(node, late)).committed).toBe(false);
  expect(allocatedIn(await node.changes())).toBe(0);
});

test.concurrent("a record without addresses of ours is found, too", async () => {
  using server = serveUnmanagedPod("192.0.2.9");
  await using node = await startNode(KUBERNETES);
  using pod = new TestNetns();
  const config = { kubernetes: { k8s_api_root: server.url.href }, feature_control: { ip_addrs_no_ipam: true } };
  const ofPod = { netns: pod.path, config };
  const { host, apply } = withLateCommit();
  expect((await node.call("ADD", { ...ofPod, host })).json?.code).toBe(11);
  expect((await node.call("DEL", ofPod)).stdout).toBe("");
  pod.delete();
  await apply(node);
  expect(await node.changes()).toHaveLength(1);
  expect((await node.call("DEL", { ...ANOTHER, host: later(60_001) })).stdout).toBe("");
  expect(await node.verify()).toEqual([]);
});

test.concurrent.each([NETPLUG, IPAM_ALONE])(
  "an ADD of which everything is answered leaves its DEL nothing to note: $name",
  async (flow) => {
    await using node = await startNode(flow);
    using pod = new TestNetns();
    const ofPod = { netns: pod.path, config: { ...WITHOUT_WAIT, ipam: { type: "netplug-ipam", ipv4_pools: ["none"] } } };
    expect((await node.call("ADD", ofPod)).json?.code).toBe(100);
    expect((await node.call("DEL", ofPod)).stdout).toBe("");
    expect(pendingReleasesOf(node)).toEqual([]);
    expect(await node.verify()).toEqual([]);
  },
);

test.concurrent("the same of an ADD whose namespace is removed before it can commit again", async () => {
  await using node = await startNode(NETPLUG);
  using pod = new TestNetns();
  const ofPod = { netns: pod.path, config: WITHOUT_WAIT };
  const { host, apply } = withLateCommit({ isBack: true });
  const removesNetns = duringCommit(() => pod.delete());
  expect((await node.call("ADD", { ...ofPod, host: (real) => removesNetns(host(real)) })).json?.code).toBe(8);
  expect((await node.call("DEL", ofPod)).stdout).toBe("");
  await apply(node);
  await expectReleasedByLastLook(node);
});

test.concurrent.each([
  ["that gave up", {}, 11, () => {}],
  ["whose namespace is removed before it can commit again", { isBack: true }, 8, (pod: TestNetns) => void pod.delete()],
] as const)("the same of an ADD of netplug-ipam %s", async (_which, away, code, during) => {
  await using node = await startNode(IPAM_ALONE);
  using pod = new TestNetns();
  const { host, apply } = withLateCommit(away);
  const changesNetns = duringCommit(() => during(pod));
  expect((await node.call("ADD", { netns: pod.path, host: (real) => changesNetns(host(real)) })).json?.code).toBe(code);
  expect((await node.call("DEL", { netns: pod.path })).stdout).toBe("");
  pod.delete();
  expect((await node.call("DEL", ANOTHER)).stdout).toBe("");
  await apply(node);
  await expectReleasedByLastLook(node);
});

const refused = (): Promise<never> => Promise.reject(new NetplugError("accessDenied", "test: the token is not accepted"));

describe.each([NETPLUG, IPAM_ALONE])("the same of an ADD that is refused after its reply was lost: $name", (flow) => {
  test.concurrent.each<[what: string, after: NonNullable<Away["after"]>]>([
    ["as it reads again", { read: refused }],
    ["as it commits again", { commit: refused }],
  ])("%s", async (_what, after) => {
    await using node = await startNode(flow);
    using pod = new TestNetns();
    const ofPod = { netns: pod.path, config: WITHOUT_WAIT };
    const { host, apply } = withLateCommit({ isBack: true, after });
    expect((await node.call("ADD", { ...ofPod, host })).json?.code).toBe(108);
    expect((await node.call("DEL", ofPod)).stdout).toBe("");
    pod.delete();
    expect((await node.call("DEL", ANOTHER)).stdout).toBe("");
    await apply(node);
    expect(allocatedIn(await node.changes())).toBe(2);
    expect((await node.call("DEL", { ...ANOTHER, host: later(59_000) })).stdout).toBe("");
    expect((await node.call("DEL", { ...ANOTHER, host: later(60_001) })).stdout).toBe("");
    expect(pendingReleasesOf(node)).toEqual([]);
    expect(await node.verify()).toEqual([]);
  });
});

test.concurrent.each([NETPLUG, IPAM_ALONE])(
  "the same of an ADD that is repeated, and fails before it sends anything: $name",
  async (flow) => {
    await using node = await startNode(flow);
    using pod = new TestNetns();
    const { ofPod, apply } = await addThatGivesUp(node, pod);
    expect((await node.call("ADD", { ...ofPod, host: away })).json?.code).toBe(11);
    expect((await node.call("DEL", ofPod)).stdout).toBe("");
    pod.delete();
    expect((await node.call("DEL", ANOTHER)).stdout).toBe("");
    await apply(node);
    await expectReleasedByLastLook(node);
  },
);

test.concurrent.each([
  ["takes from another block", "another pool"],
  ["wants the same addresses", "the same pool"],
])("the same of an ADD of netplug-ipam whose commit arrives while a later one %s, and fails", async (_what, from) => {
  await using node = await startNode(IPAM_ALONE);
  using pod = new TestNetns();
  const { ofPod, apply } = await addThatGivesUp(node, pod);
  const pool = `${node.name}-more`;
  if (from === "another pool") await createPool(node.etcd, pool, { cidr: "10.72.0.0/28", blockSize: 28 });
  const config = from === "another pool" ? { ipam: { type: "netplug-ipam", ipv4_pools: [pool] } } : {};
  const arrives = beforeStep(isCommit, () => apply(node));
  const unheard: Change = (real) => ({
    ...real,
    writeAnswer() {
      throw new Error("test: nobody reads it");
    },
  });
  expect((await node.call("ADD", { ...ofPod, config, host: (real) => unheard(arrives(real)) })).status).toBe(1);
  expect([allocatedIn(await node.changes()), pendingReleasesOf(node).length]).toEqual([2, 1]);
  pod.delete();
  expect((await node.call("DEL", ANOTHER)).stdout).toBe("");
  expect([allocatedIn(await node.changes()), pendingReleasesOf(node)]).toEqual([0, []]);
});

test.concurrent("the same of an ADD of netplug-ipam that is repeated, and cannot ask Kubernetes", async () => {
  await using node = await startNode({ ...IPAM_ALONE, args: `K8S_POD_NAMESPACE=shop;K8S_POD_NAME=web-0` });
  using pod = new TestNetns();
  const ofPod = { netns: pod.path };
  const { host, apply } = withLateCommit();
  expect((await node.call("ADD", { ...ofPod, host })).json?.code).toBe(11);
  const unreadable = { policy: { type: "k8s" }, kubernetes: { kubeconfig: "/dev/null/none" } };
  expect((await node.call("ADD", { ...ofPod, config: unreadable })).json?.code).toBe(7);
  expect((await node.call("DEL", ofPod)).stdout).toBe("");
  pod.delete();
  await apply(node);
  await expectReleasedByLastLook(node);
});

test.concurrent.each(["by name", "by a file that a process has open"])(
  "the same of an ADD that was killed, and whose DEL fails: the namespace is known %s",
  async (how) => {
    await using node = await startNode(NETPLUG);
    using pod = new TestNetns();
    using netns = openNetns(pod.path);
    const path = how === "by name" ? pod.path : `/proc/self/fd/${String(netns?.fd.number)}`;
    const { ofPod, apply } = await addThatGivesUp(node, { path });
    asIfKilled(node);
    expect((await node.call("DEL", { ...ofPod, host: away })).json?.code).toBe(11);
    expect((await node.call("DEL", ANOTHER)).stdout).toBe("");
    await apply(node);
    expect(allocatedIn(await node.changes())).toBe(2);
    expect((await node.call("DEL", ANOTHER)).stdout).toBe("");
    expect(await node.verify()).toEqual([]);
  },
);

test.concurrent(
  "an ADD of netplug-ipam leaves nothing in a namespace that only a process names: nobody would see the end of it",
  async () => {
    await using node = await startNode(IPAM_ALONE);
    using pod = new TestNetns();
    using netns = openNetns(pod.path);
    const { ofPod } = await addThatGivesUp(node, { path: `/proc/self/fd/${String(netns?.fd.number)}` });
    expect(pendingReleasesOf(node)).toEqual([]);
    expect((await node.call("DEL", ofPod)).stdout).toBe("");
    expect(await node.verify()).toEqual([]);
  },
);

test.concurrent("the same of an ADD that was killed, and whose DEL meets a damaged block", async () => {
  await using node = await startNode(NETPLUG);
  using pod = new TestNetns();
  const { ofPod, apply } = await addThatGivesUp(node, pod);
  asIfKilled(node);
  const fault = new CorruptBlock({ cidr: parsePrefix("10.66.0.0/28"), node: node.name }, "test: it is damaged");
  const damaged = withDatastore((datastore) => ({
    read: (queries, options) => (options?.onDamage === undefined ? Promise.reject(fault) : datastore.read(queries, options)),
  }));
  expect((await node.call("DEL", { ...ofPod, host: damaged })).stdout).toBe("");
  pod.delete();
  expect((await node.call("DEL", ANOTHER)).stdout).toBe("");
  await apply(node);
  await expectReleasedByLastLook(node);
});

test.concurrent("the same of what another process may have sent for an ADD that waited for its turn", async () => {
  await using node = await startNode({ ...NETPLUG, waits: false });
  using pod = new TestNetns();
  const ofPod = { netns: pod.path, config: { ...WITHOUT_WAIT, readiness_gates: [] } };
  let isQueued = false;
  const takeTurn: Host["takeTurn"] = async (_path, { request }) => void (isQueued ||= request?.() !== undefined);
  const inQueue = withDatastore((datastore) => ({ read: (...args) => (isQueued ? noAnswer() : datastore.read(...args)) }));
  expect((await node.call("ADD", { ...ofPod, host: (real) => inQueue({ ...real, takeTurn }) })).json?.code).toBe(11);
  expect(isQueued).toBe(true);
  expect((await node.call("DEL", ofPod)).stdout).toBe("");
  expect((await node.call("DEL", ANOTHER)).stdout).toBe("");
  expect(pendingReleasesOf(node)).toHaveLength(1);
  expect((await node.call("DEL", { ...ANOTHER, host: later(60_001) })).stdout).toBe("");
  expect(pendingReleasesOf(node)).toEqual([]);
  expect(await node.verify()).toEqual([]);
});
