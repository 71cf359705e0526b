/** netplug under real workloads: what Kubernetes makes gets addresses, talks, goes, and every address returns. */

import { afterAll, beforeAll, describe, expect, test as always } from "bun:test";
import { BUSYBOX_IMAGE, canStartCluster, startCluster } from "./cluster.ts";
import type { Cluster } from "./cluster.ts";
import { eventually } from "./eventually.ts";
import { netplugctl, netplugOnEtcd } from "./networks.ts";
import { listPods, pingFrom, pingScript } from "./pods.ts";

const test = always.skipIf(!canStartCluster());
const POOL = "10.65.0.0/16";

let cluster: Cluster;
beforeAll(async () => {
  if (!canStartCluster()) return;
  cluster = await startCluster({ nodes: 2, network: netplugOnEtcd({ pools: [POOL] }) });
  await cluster.kubectl(["wait", "--for=create", "serviceaccount/default", "--timeout=30s"]);
});
afterAll(async () => await cluster?.stop());

async function ctl(...args: readonly string[]): Promise<string> {
  return await netplugctl({ PATH: process.env["PATH"] ?? "", ETCD_ENDPOINTS: cluster.api.etcdEndpoint }, args);
}

interface Ledger {
  readonly pools: readonly { readonly inUse: number }[];
  readonly blocks: readonly { readonly cidr: string; readonly node: string }[];
}

async function ledger(): Promise<Ledger> {
  return JSON.parse(await ctl("ipam", "show", "-o", "json")) as Ledger;
}

/** A pod template that waits, or runs `command`; its pods are spread over the nodes. */
function template(app: string, command?: readonly string[]): object {
  return {
    metadata: { labels: { app } },
    spec: {
      terminationGracePeriodSeconds: 2,
      restartPolicy: command === undefined ? "Always" : "OnFailure",
      topologySpreadConstraints: [
        { maxSkew: 1, topologyKey: "kubernetes.io/hostname", whenUnsatisfiable: "DoNotSchedule", labelSelector: { matchLabels: { app } } },
      ],
      containers: [{ name: "main", image: BUSYBOX_IMAGE, ...(command === undefined ? {} : { command }) }],
    },
  };
}

async function create(kind: "Deployment" | "StatefulSet" | "Job", name: string, spec: object): Promise<void> {
  const apiVersion = kind === "Job" ? "batch/v1" : "apps/v1";
  await cluster.kubectl(["create", "-f", "-"], JSON.stringify({ apiVersion, kind, metadata: { name }, spec }));
}

/** The agent of a later release does this: each block's addresses are reached by the node that has it. */
async function routeBlocks(): Promise<void> {
  for (const { cidr, node } of (await ledger()).blocks) {
    const owner = cluster.nodes.find(({ name }) => name === node);
    if (owner !== undefined) cluster.route(cidr, owner);
  }
}

/** Deletes with kubectl and waits until the last pod is gone, then looks for its address. */
async function deleteAndCount(...what: readonly string[]): Promise<void> {
  await cluster.kubectl(["delete", ...what, "--cascade=foreground", "--wait", "--timeout=60s"]);
  // the kubelet reports a pod's end before the runtime has removed its sandbox, or after
  await eventually(async () => expect((await ledger()).pools.map(({ inUse }) => inUse)).toEqual([0]));
  expect(JSON.parse(await ctl("get", "workloadendpoints", "-A", "-o", "json"))).toMatchObject({ items: [] });
  for (const node of cluster.nodes) expect(node.must(["ip", "-o", "link", "show"])).not.toContain("npg");
}

describe("netplug on etcd", () => {
  test("a Deployment and a StatefulSet on two nodes get addresses of the pool, each its own, and reach each other; a Job reaches them", async () => {
    await create("Deployment", "web", { replicas: 4, selector: { matchLabels: { app: "web" } }, template: template("web") });
    const identity = { serviceName: "db", podManagementPolicy: "Parallel" };
    await create("StatefulSet", "db", { ...identity, replicas: 2, selector: { matchLabels: { app: "db" } }, template: template("db") });
    for (const name of ["deployment/web", "statefulset/db"]) await cluster.kubectl(["rollout", "status", name, "--timeout=60s"]);

    const all = await listPods(cluster, ["-l", "app in (web, db)"]);
    expect(all.map(({ address }) => address)).toEqual(Array.from(all, () => expect.stringMatching(/^10\.65\./)));
    expect(new Set(all.map(({ address }) => address)).size).toBe(6);
    expect(new Set(all.map(({ node }) => node)).size).toBe(2);
    expect((await ledger()).pools.map(({ inUse }) => inUse)).toEqual([6]);

    await routeBlocks();
    const addresses = all.map(({ address }) => address);
    for (const { name } of all) await pingFrom(cluster, name, addresses);
    await create("Job", "visit", { parallelism: 2, completions: 2, template: template("visit", ["/bin/sh", "-c", pingScript(addresses)]) });
    await cluster.kubectl(["wait", "--for=condition=Complete", "job/visit", "--timeout=60s"]);

    await deleteAndCount("deployment/web", "statefulset/db", "job/visit");
  });

  test("containerd and the kubelet killed while pods come and go leave no address behind", async () => {
    await create("Deployment", "busy", { replicas: 10, selector: { matchLabels: { app: "busy" } }, template: template("busy") });
    const [first] = cluster.nodes;
    if (first === undefined) throw new Error("want a node");
    await eventually(async () => expect((await ledger()).pools[0]?.inUse).toBeGreaterThan(1));
    await Promise.all([first.containerd.stop(), first.kubelet.stop()]);
    await first.containerd.start();
    await first.kubelet.start();
    await cluster.kubectl(["rollout", "status", "deployment/busy", "--timeout=90s"]);
    expect((await ledger()).pools.map(({ inUse }) => inUse)).toEqual([10]);

    await cluster.kubectl(["scale", "deployment/busy", "--replicas=2"]);
    await Promise.all([first.containerd.stop(), first.kubelet.stop()]);
    await first.containerd.start();
    await first.kubelet.start();
    await deleteAndCount("deployment/busy");
  });

  test("a locked datastore turns the node NotReady with the plugin's reason; unlocked, it is Ready again", async () => {
    const setReady = async (isReady: boolean): Promise<string> =>
      await ctl("patch", "clusterinformation", "default", "-p", JSON.stringify({ spec: { datastoreReady: isReady } }));
    await setReady(false);
    await cluster.kubectl(["wait", "--for=condition=Ready=false", "node", "--all", "--timeout=60s"]);
    const message = await cluster.kubectl(["get", "node", "node-1", "-o", "jsonpath={.status.conditions[?(@.type=='Ready')].message}"]);
    expect(message).toContain('use datastore: it is locked; set "datastoreReady" in ClusterInformation "default"');
    await setReady(true);
    await cluster.kubectl(["wait", "--for=condition=Ready", "node", "--all", "--timeout=60s"]);
  });
});
