/**
 * netplug under real workloads, on each datastore, and with addresses of each family alone: what Kubernetes makes gets addresses, talks, goes,
 * and every address returns.
 */

import { describe, expect } from "bun:test";
import { mustNetplugctl, setReady } from "../support/cli/netplugctl.ts";
import { untilAddressesAgree } from "./support/addresses.ts";
import { etcdAccess, kubernetesAccess } from "./support/datastores.ts";
import { eventually } from "../support/time/eventually.ts";
import { netplugOnEtcd, netplugOnKubernetes, shownNetworkConfig } from "./support/networks.ts";
import { onCluster } from "./support/on-cluster.ts";
import { listPods, pingFrom, pingScript, type RunningPod } from "./support/pods.ts";
import {
  askersOf,
  askFrom,
  createServers,
  createService,
  KUBECTL_IN_POD,
  shownKubeProxyConfig,
  untilAnswered,
} from "./support/services.ts";
import { createReplicas, createWorkload, podTemplate } from "./support/workload.ts";

/** With what docs/install.md says to write in an IPv6-only cluster. */
function networkConfigForIPv6(): string {
  return shownNetworkConfig().replace('"assign_ipv4": "true"', '"assign_ipv4": "false"');
}

interface Ledger {
  readonly pools: readonly { readonly inUse: number }[];
  readonly blocks: readonly { readonly cidr: string; readonly node: string }[];
}

describe.each([
  {
    where: "etcd, with IPv4",
    isIPv6Only: false,
    network: netplugOnEtcd({ pools: ["10.65.0.0/16"] }),
    ofPool: /^10\.65\./,
    access: etcdAccess,
    check: async () => {},
  },
  {
    where: "the Kubernetes API, in an IPv6-only cluster",
    isIPv6Only: true,
    network: netplugOnKubernetes({ pools: ["fd65::/112"], networkConfig: networkConfigForIPv6() }),
    ofPool: /^fd65::/,
    access: kubernetesAccess,
    check: untilAddressesAgree,
  },
])("netplug on $where", ({ isIPv6Only, network, ofPool, access, check }) => {
  const [test, cluster] = onCluster({ nodes: 2, isIPv6Only, network, kubeProxy: shownKubeProxyConfig() });

  async function ctl(...args: readonly string[]): Promise<string> {
    return await mustNetplugctl(access(cluster), args);
  }

  async function ledger(): Promise<Ledger> {
    return JSON.parse(await ctl("ipam", "show", "-o", "json")) as Ledger;
  }

  /** The agent of a later release does this: each block's addresses are reached by the node that has it. */
  async function routeBlocks(): Promise<void> {
    for (const { cidr, node } of (await ledger()).blocks) {
      const owner = cluster.nodes.find(({ name }) => name === node);
      if (owner !== undefined) cluster.route(cidr, owner);
    }
  }

  let visit: Promise<void> | undefined;
  /** A pod on each node that asks Services: one for all tests of them, started by the first that runs. */
  async function listVisitors(): Promise<readonly RunningPod[]> {
    await (visit ??= createServers(cluster, "visit", 2));
    await routeBlocks();
    const visitors = await listPods(cluster, ["-l", "app=visit"]);
    expect(new Set(visitors.map(({ node }) => node)).size).toBe(2);
    return visitors;
  }

  /** Deletes with kubectl and waits until the last pod is gone, then looks for its address. */
  async function deleteAndCount(...what: readonly string[]): Promise<void> {
    await cluster.kubectl(["delete", ...what, "--cascade=foreground", "--wait", "--timeout=180s"]);
    // the kubelet reports a pod's end before the runtime has removed its sandbox, or after
    await eventually(async () => expect((await ledger()).pools.map(({ inUse }) => inUse)).toEqual([0]));
    await check(cluster, 0);
    expect(JSON.parse(await ctl("get", "workloadendpoints", "-A", "-o", "json"))).toMatchObject({ items: [] });
    for (const node of cluster.nodes) expect(node.must(["ip", "-o", "link", "show"])).not.toContain("npg");
  }

  test("a Deployment and a StatefulSet on two nodes get addresses of the pool, each its own, and reach each other; a Job reaches them", async () => {
    await createReplicas(cluster, "Deployment", "web", 4);
    await createReplicas(cluster, "StatefulSet", "db", 2);
    for (const name of ["deployment/web", "statefulset/db"]) await cluster.kubectl(["rollout", "status", name, "--timeout=180s"]);

    const all = await listPods(cluster, ["-l", "app in (web, db)"]);
    expect(all.map(({ address }) => address)).toEqual(Array.from(all, () => expect.stringMatching(ofPool)));
    expect(new Set(all.map(({ address }) => address)).size).toBe(6);
    expect(new Set(all.map(({ node }) => node)).size).toBe(2);
    expect((await ledger()).pools.map(({ inUse }) => inUse)).toEqual([6]);
    await check(cluster, 6);

    await routeBlocks();
    const addresses = all.map(({ address }) => address);
    for (const { name } of all) await pingFrom(cluster, name, addresses);
    const visitor = podTemplate("visit", { command: ["/bin/sh", "-c", pingScript(addresses)], restartPolicy: "OnFailure" });
    await createWorkload(cluster, "Job", "visit", { parallelism: 2, completions: 2, template: visitor });
    await cluster.kubectl(["wait", "--for=condition=Complete", "job/visit", "--timeout=180s"]);

    await deleteAndCount("deployment/web", "statefulset/db", "job/visit");
  });

  test("a Service leads pods of each node to the pods behind it on both, which see who asks, and only to new ones once those are replaced", async () => {
    const [visitors] = await Promise.all([listVisitors(), createServers(cluster, "shop", 2)]);
    await routeBlocks();
    const first = await listPods(cluster, ["-l", "app=shop"]);
    const { clusterIPs, nodePort } = await createService(cluster, "shop", { type: "NodePort", selector: { app: "shop" } });
    const service = [clusterIPs[0], 80] as const;
    for (const visitor of visitors) await untilAnswered(cluster, visitor, service, first);
    // the log comes by way of containerd, a little later
    await eventually(async () => expect(await askersOf(cluster, "shop")).toEqual(new Set(visitors.map(({ address }) => address))));
    for (const pod of first) await untilAnswered(cluster, pod, service, first);
    // of the other node, as somebody outside of the cluster asks it
    const [node, other] = cluster.nodes;
    expect(first.map(({ name }) => name)).toContain(askFrom(node, [other?.wire.addresses[0] ?? "", nodePort]));

    await cluster.kubectl(["delete", "pods", "-l", "app=shop", "--wait", "--timeout=180s"]);
    await cluster.kubectl(["rollout", "status", "deployment/shop", "--timeout=180s"]);
    await routeBlocks();
    const second = await listPods(cluster, ["-l", "app=shop"]);
    for (const visitor of visitors) await untilAnswered(cluster, visitor, service, second);
  });

  test("a pod reaches a NodePort of its own node although the Service is local to the other, and the API server by its Service", async () => {
    const [visitor, far] = await listVisitors();
    const node = cluster.nodes.find(({ name }) => name === visitor?.node);
    if (visitor === undefined || far === undefined || node === undefined) throw new Error("want two pods");
    await cluster.kubectl(["label", "pod", far.name, "only=this"]);
    const { nodePort } = await createService(cluster, "far", {
      type: "NodePort",
      selector: { only: "this" },
      externalTrafficPolicy: "Local",
    });
    await untilAnswered(cluster, visitor, [node.wire.addresses[0] ?? "", nodePort], [far]);

    // with nothing but what each pod has, and a certificate that it believes
    const whoami = ["exec", visitor.name, "--", KUBECTL_IN_POD, "auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"];
    expect(await cluster.kubectl(whoami)).toBe("system:serviceaccount:default:default");
    // with those of the test before, if it has run
    await deleteAndCount("deployment/shop", "deployment/visit", "service/shop", "service/far", "--ignore-not-found");
  });

  test("containerd and the kubelet killed while pods come and go leave no address behind", async () => {
    await createReplicas(cluster, "Deployment", "busy", 10);
    const [first] = cluster.nodes;
    await eventually(async () => expect((await ledger()).pools[0]?.inUse).toBeGreaterThan(1));
    await Promise.all([first.containerd.stop(), first.kubelet.stop()]);
    await first.containerd.start();
    await first.kubelet.start();
    await cluster.kubectl(["rollout", "status", "deployment/busy", "--timeout=180s"]);
    expect((await ledger()).pools.map(({ inUse }) => inUse)).toEqual([10]);
    await check(cluster, 10);

    await cluster.kubectl(["scale", "deployment/busy", "--replicas=2"]);
    await Promise.all([first.containerd.stop(), first.kubelet.stop()]);
    await first.containerd.start();
    await first.kubelet.start();
    await deleteAndCount("deployment/busy");
  });

  test("a locked datastore turns the node NotReady with the plugin's reason; unlocked, it is Ready again", async () => {
    await setReady(access(cluster), false);
    await cluster.kubectl(["wait", "--for=condition=Ready=false", "node", "--all", "--timeout=180s"]);
    const message = await cluster.kubectl(["get", "node", "node-1", "-o", "jsonpath={.status.conditions[?(@.type=='Ready')].message}"]);
    expect(message).toContain('use datastore: it is locked; set "datastoreReady" in ClusterInformation "default"');
    await setReady(access(cluster), true);
    await cluster.kubectl(["wait", "--for=condition=Ready", "node", "--all", "--timeout=180s"]);
  });
});
