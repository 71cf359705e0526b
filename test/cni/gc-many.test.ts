/**
 * GC of hundreds of attachments of which only the datastore knows, and DELs that find notes of many: within the client's limits, and with
 * less left each time.
 */

import { beforeEach, describe, expect, test as always } from "bun:test";
import type { WorkloadEndpoint } from "../../src/api/workload-endpoint.ts";
import type { Host } from "../../src/cni/host.ts";
import { realHost } from "../../src/cni/real-host.ts";
import { initialise } from "../../src/datastore/initialise.ts";
import { KubeClient } from "../../src/kube/client.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { parsePrefix, type Prefix } from "../../src/lib/ip/prefix.ts";
import { systemRandom } from "../../src/lib/random.ts";
import { collection } from "../crds/definitions.ts";
import { KubernetesWorld } from "../datastore/kubernetes-world.ts";
import { openEtcd } from "../datastore/open-etcd.ts";
import { commit } from "../datastore/steps.ts";
import { startEtcd } from "../support/servers/etcd.ts";
import { fastClock } from "../support/time/fast-clock.ts";
import type { Fate } from "../support/servers/fault-proxy.ts";
import { createNode, createPod, podsIn } from "../support/servers/kubernetes.ts";
import { onApiServer } from "../support/servers/on-api-server.ts";
import { readPodRecords } from "../support/servers/pod-records.ts";
import { EmptyNode, fillBlocks, NODE, ownersIn, type StaleAttachment } from "./support/many-attachments.ts";

const PODS = podsIn("default");
const PREFIX = "cni.netplug.io/";
const INITIAL = { clock: systemClock, random: systemRandom, version: "v3.31.0" };

/**
 * A machine that is four times as quick, for all that is told by a clock: the call's time and the waits that the client's limits ask for are
 * as they are, and how quick this machine is decides nothing.
 */
function quickMachine(): Partial<Host> {
  const clock = fastClock();
  clock.speedUp(1 / 4);
  const { random, files, processes, env } = realHost();
  return { clock, openKube: async (settings, options) => new KubeClient(settings, { clock, random, files, processes, env }, options) };
}

/** Blocks of 10.65.0.0/16, one behind the other. */
function blocksOf(count: number, length: number): readonly Prefix[] {
  const size = 2 ** (32 - length);
  return Array.from({ length: count }, (_, i) => parsePrefix(`10.65.${(i * size) >> 8}.${(i * size) & 255}/${length}`));
}

describe("on the Kubernetes API", () => {
  const [test, world] = onApiServer(() => KubernetesWorld.start());
  const { server, proxy, admin } = world;
  beforeEach(async () => {
    await world.empty();
    await world.initialise();
    await createNode(server, NODE, []);
  });

  type Record = "its own" | "another container's" | "none" | "no pod";

  /**
   * Attachments that nobody has any more, with pods that the node runs.
   *
   * @param recordOf what the pod of this number shows
   */
  async function leave(
    cidrs: readonly Prefix[],
    recordOf: (number: number) => Record = () => "its own",
  ): Promise<readonly StaleAttachment[]> {
    const uids = new Map<string, string>();
    const { attachments } = fillBlocks(cidrs);
    const create = async ({ pod, containerID, address }: StaleAttachment, number: number): Promise<void> => {
      const record = recordOf(number);
      if (record === "no pod") return void uids.set(pod, crypto.randomUUID());
      const [holder, shown] = record === "its own" ? [containerID, address] : ["next", "192.0.2.1"];
      const annotations = { containerID: holder, podIP: `${shown}/32`, podIPs: `${shown}/32` };
      const { uid } = await createPod(server, { name: pod, ...(record !== "none" && { annotations }), spec: { nodeName: NODE } });
      uids.set(pod, uid);
    };
    for (let at = 0; at < attachments.length; at += 50) {
      await Promise.all(attachments.slice(at, at + 50).map((attachment, i) => create(attachment, at + i)));
    }
    for (const block of fillBlocks(cidrs, uids).blocks) await commit(admin, { op: "create-block", block });
    proxy.seen.length = 0;
    return attachments;
  }

  /** Pods that show addresses, with their containers. */
  async function shown(): Promise<ReadonlyMap<string, string>> {
    const records = await readPodRecords(server);
    return new Map(records.map(({ containerID, addresses }) => [containerID, addresses.join(",")]));
  }

  /** As a user whose network config says nothing of limits. */
  const emptyNode = (): EmptyNode => new EmptyNode({ datastore_type: "kubernetes", kubernetes: { k8s_api_root: proxy.url } });
  const requestsTo = (begin: string): number => proxy.seen.filter((request) => request.startsWith(begin)).length;

  test("one GC ends the records of 192 pods that exist, with two requests for each and few besides (needs cluster)", async () => {
    using node = emptyNode();
    await leave(blocksOf(3, 26));
    expect(await node.call("GC")).toEqual({ code: 0, message: "" });
    expect([await ownersIn(admin), await shown()]).toEqual([[], new Map()]);
    expect({ patches: requestsTo("PATCH"), gets: requestsTo("GET namespaces") }).toEqual({ patches: 192, gets: 192 });
    expect(proxy.seen.length).toBeLessThan(2 * 192 + 40);
  });

  test("pods that are gone, or have another container, cost no write (needs cluster)", async () => {
    using node = emptyNode();
    await leave(blocksOf(5, 26), (number) => (number % 2 === 0 ? "no pod" : "another container's"));
    expect(await node.call("GC")).toEqual({ code: 0, message: "" });
    expect([await ownersIn(admin), await shown()]).toEqual([[], new Map([["next", "192.0.2.1/32"]])]);
    expect([requestsTo("PATCH"), requestsTo("GET namespaces")]).toEqual([0, 320]);
    expect(proxy.seen.length).toBeLessThan(320 + 60);
  });

  test("pods whose ADD ended before it recorded anything are told that it is over (needs cluster)", async () => {
    using node = emptyNode();
    await leave(blocksOf(2, 28), () => "none");
    expect(await node.call("GC")).toEqual({ code: 0, message: "" });
    const { body } = await server.request("GET", PODS);
    const text = JSON.stringify(body);
    expect([await ownersIn(admin), text.split(`"${PREFIX}containerID":"c`).length - 1, await shown()]).toEqual([[], 32, new Map()]);
  });

  test("a GC whose time ends in the middle has released what it could, and nothing that a pod shows; the next one goes on (needs cluster)", async () => {
    using node = emptyNode();
    const attachments = await leave(blocksOf(2, 27), (number) => (number % 2 === 0 ? "no pod" : "its own"));
    let skewMs = 0;
    proxy.decide = ({ method }): Fate => {
      if (method === "PATCH" && requestsTo("PATCH") === 13) skewMs = 52_000;
      return "pass";
    };
    const change: Partial<Host> = { clock: { ...systemClock, monotonic: () => systemClock.monotonic() + skewMs } };
    const { code, message } = await node.call("GC", {}, change);
    expect([code, message]).toEqual([11, expect.stringContaining("the records of 8 more pods")]);
    const left = await ownersIn(admin);
    expect([left.length, [...(await shown()).keys()].toSorted()]).toEqual([8, [...left].toSorted()]);
    expect(await node.call("GC")).toEqual({ code: 0, message: "" });
    expect([await ownersIn(admin), await shown(), attachments.length]).toEqual([[], new Map(), 64]);
  });

  test("a pod whose container is added again while others' records end keeps its own (needs cluster)", async () => {
    using node = emptyNode();
    const attachments = await leave(blocksOf(1, 28));
    const last = attachments.at(-1);
    proxy.decide = ({ method }): Fate => {
      if (method === "PATCH" && last !== undefined) node.hold(last);
      return "pass";
    };
    expect(await node.call("GC")).toEqual({ code: 0, message: "" });
    expect([await ownersIn(admin), [...(await shown()).keys()]]).toEqual([["c15"], ["c15"]]);
  });

  test("the end of a pod's record lets go of what all its containers have had (needs cluster)", async () => {
    using node = emptyNode();
    await leave(blocksOf(1, 30));
    for (const block of fillBlocks([parsePrefix("10.65.1.0/30")]).blocks) {
      const allocations = block.allocations.map((one) => ({
        ...one,
        owner: { ...one.owner, containerID: `before-${one.owner.containerID}` },
      }));
      await commit(admin, { op: "create-block", block: { ...block, allocations } });
    }
    expect(await node.call("GC")).toEqual({ code: 0, message: "" });
    expect([await ownersIn(admin), await shown(), requestsTo("PATCH")]).toEqual([[], new Map(), 4]);
  });

  test("a pod whose record the cluster forbids to change keeps its address, and no other does (needs cluster)", async () => {
    using node = emptyNode();
    await leave(blocksOf(1, 27));
    proxy.decide = ({ method, resource }): Fate =>
      method === "PATCH" && resource.includes("/web-3/") ? { status: 422, reason: "Invalid", message: "hands off" } : "pass";
    expect(await node.call("GC")).toMatchObject({ code: 108, message: expect.stringContaining("hands off") });
    expect([await ownersIn(admin), [...(await shown()).keys()]]).toEqual([["c3"], ["c3"]]);
    proxy.decide = () => "pass";
    expect(await node.call("GC")).toEqual({ code: 0, message: "" });
    expect([await ownersIn(admin), await shown()]).toEqual([[], new Map()]);
  });

  test("where the first records cannot be ended, no others are tried (needs cluster)", async () => {
    using node = emptyNode();
    await leave(blocksOf(1, 27));
    const denial: Fate = { status: 403, reason: "Forbidden", message: 'cannot patch resource "pods/status" in API group ""' };
    proxy.decide = ({ method }): Fate => (method === "PATCH" ? denial : "pass");
    expect(await node.call("GC")).toMatchObject({ code: 108, message: expect.stringContaining("patch pods/status") });
    // twelve together, then each alone; each twice, since a server may become ready after a denial
    expect([requestsTo("PATCH"), (await ownersIn(admin)).length, (await shown()).size]).toEqual([48, 32, 32]);
  });

  test("nothing is written while a migration has frozen the datastore (needs cluster)", async () => {
    using node = emptyNode();
    await leave(blocksOf(1, 30));
    const freeze = { spec: { datastoreFrozen: true } };
    const path = `${collection("clusterinformations")}/default`;
    expect((await server.request("PATCH", path, freeze, "application/merge-patch+json")).status).toBe(200);
    expect(await node.call("GC")).toMatchObject({ code: 11, message: expect.stringContaining("frozen") });
    expect([(await ownersIn(admin)).length, (await shown()).size]).toEqual([4, 4]);
  });

  test("a pod that gets its next container in the middle keeps what that one has (needs cluster)", async () => {
    using node = emptyNode();
    await leave(blocksOf(1, 27));
    let isDone = false;
    proxy.decide = async ({ method }): Promise<Fate> => {
      if (method !== "PATCH" || isDone) return "pass";
      isDone = true;
      const annotations = { [`${PREFIX}containerID`]: "next", [`${PREFIX}podIPs`]: "192.0.2.1/32" };
      for (const pod of ["web-0", "web-31"])
        await server.request("PATCH", `${PODS}/${pod}`, { metadata: { annotations } }, "application/merge-patch+json");
      return "pass";
    };
    expect(await node.call("GC")).toEqual({ code: 0, message: "" });
    expect([await ownersIn(admin), await shown()]).toEqual([[], new Map([["next", "192.0.2.1/32"]])]);
  });

  test.each([
    ["end where a version is noted", { version: "v3.31.1" }, { code: 0, message: "" }, 0],
    ["stay where a migration begins", { datastoreFrozen: true }, { code: 11, message: expect.stringContaining("frozen") }, 8],
  ])("records of pods %s while they are read (needs cluster)", async (_what, spec, answer, left) => {
    using node = emptyNode();
    await leave(blocksOf(1, 28), (number) => (number % 2 === 0 ? "no pod" : "its own"));
    let isDone = false;
    proxy.decide = async ({ method, resource }): Promise<Fate> => {
      if (isDone || method !== "GET" || !resource.startsWith("namespaces/")) return "pass";
      isDone = true;
      // The information is asked for at the same time, and the addresses without a pod are released next, for which it is read again.
      await Bun.sleep(300);
      const path = `${collection("clusterinformations")}/default`;
      await server.request("PATCH", path, { spec }, "application/merge-patch+json");
      return "pass";
    };
    expect(await node.call("GC")).toMatchObject(answer);
    expect([(await ownersIn(admin)).length, (await shown()).size]).toEqual([2 * left, left]);
  });

  test("each DEL has less noted after it, however many blocks must be read, and never lists pods (needs cluster)", async () => {
    using node = emptyNode();
    const attachments = await leave(blocksOf(32, 31));
    node.note(attachments.slice(0, 30));
    for (let before = 30; before > 0;) {
      expect(await node.call("DEL", {}, quickMachine())).toEqual({ code: 0, message: "" });
      const left = node.countNotes();
      expect(left).toBeLessThan(before);
      before = left;
    }
    expect([(await ownersIn(admin)).length, requestsTo("GET pods")]).toEqual([34, 0]);
  });

  test("each DEL has less noted after it, however slowly the server takes one request after the other (needs cluster)", async () => {
    using node = emptyNode();
    node.note((await leave(blocksOf(1, 27))).slice(0, 24));
    let last = Promise.resolve();
    // The three seconds are enough for one attachment, and for the reads of twelve they are not.
    proxy.decide = async (): Promise<Fate> => {
      await (last = last.then(() => Bun.sleep(250)));
      return "pass";
    };
    for (let before = 24, calls = 0; calls < 2; calls++) {
      expect(await node.call("DEL")).toEqual({ code: 0, message: "" });
      const left = node.countNotes();
      expect(left).toBeLessThan(before);
      before = left;
      await last;
    }
  });

  test("what cannot be released keeps no other note from it for ever (needs cluster)", async () => {
    using node = emptyNode();
    node.note(await leave(blocksOf(1, 26)));
    proxy.decide = ({ method, resource }): Fate =>
      method === "PATCH" && resource.includes("/web-3/") ? { status: 422, reason: "Invalid", message: "hands off" } : "pass";
    for (let calls = 0; calls < 200 && node.countNotes() > 1; calls++) await node.call("DEL", { qps: 1000, burst: 1000 });
    expect([node.countNotes(), await ownersIn(admin)]).toEqual([1, ["c3"]]);
  });
});

always("on etcd one GC takes away 512 attachments in 128 blocks, records and all", async () => {
  await using etcd = await startEtcd({ quick: true });
  using node = new EmptyNode({ datastore_type: "etcdv3", etcd_endpoints: etcd.endpoint });
  const datastore = openEtcd({ endpoints: [etcd.endpoint] });
  await initialise(datastore, INITIAL);
  const { blocks, attachments } = fillBlocks(blocksOf(128, 30));
  for (const block of blocks) await commit(datastore, { op: "create-block", block });
  for (let at = 0; at < attachments.length; at += 64) {
    const some = attachments.slice(at, at + 64);
    await commit(datastore, ...some.map((attachment) => ({ op: "create", resource: toRecord(attachment) }) as const));
  }
  const countRecords = async (): Promise<number> =>
    (await etcd.ctl(["get", "--prefix", "--keys-only", "/netplug/"])).split("\n").filter((key) => key.includes("/workloadendpoints/"))
      .length;
  expect([(await ownersIn(datastore)).length, await countRecords()]).toEqual([512, 512]);
  expect(await node.call("GC")).toEqual({ code: 0, message: "" });
  expect([await ownersIn(datastore), await countRecords()]).toEqual([[], 0]);
  datastore.close();
});

function toRecord({ pod, containerID, address, endpoint }: StaleAttachment): WorkloadEndpoint {
  return {
    apiVersion: "netplug.io/v3",
    kind: "WorkloadEndpoint",
    metadata: { name: endpoint, namespace: "default" },
    spec: { orchestrator: "k8s", node: NODE, network: "test-net", containerID, pod, endpoint: "eth0", ipNetworks: [`${address}/32`] },
  };
}
