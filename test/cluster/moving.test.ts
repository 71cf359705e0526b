/**
 * Both moves of docs/moving.md in a whole cluster of two nodes, one after the other: pods that got their addresses from `host-local`, beside an
 * etcd, keep them to the end, while others come and go.
 */

import { expect } from "bun:test";
import { readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../../tools/repository.ts";
import { ShownDocument } from "../support/documents/document.ts";
import { Reader } from "../support/documents/reader.ts";
import { distFolder } from "../support/programs/cni.ts";
import { untilAddressesAgree } from "./support/addresses.ts";
import { etcdAccess, prepareEtcdAndRoles } from "./support/datastores.ts";
import { runInstaller } from "./support/node-installer.ts";
import { onCluster } from "./support/on-cluster.ts";
import { listPods, pingFrom, type RunningPod, runPods } from "./support/pods.ts";
import { createReplicas } from "./support/workload.ts";

const DOCUMENT = new ShownDocument("docs/moving.md");
const SHOWN_IPAM = JSON.parse(`{ ${DOCUMENT.one('"ipam":')} }`) as { readonly ipam: object };

type Settings = Readonly<Record<string, string>>;

/** Of the installer. */
function settingsWith(ipam: object, datastore: Settings): Settings {
  const plugin = {
    type: "netplug",
    datastore_type: "__DATASTORE_TYPE__",
    etcd_endpoints: "__ETCD_ENDPOINTS__",
    nodename: "__KUBERNETES_NODE_NAME__",
    ipam,
    policy: { type: "k8s" },
    kubernetes: { kubeconfig: "__KUBECONFIG_FILEPATH__" },
  };
  const config = { cniVersion: "1.1.0", name: "k8s-pod-network", plugins: [plugin] };
  return { ...datastore, CNI_NETWORK_CONFIG: JSON.stringify(config) };
}

const onEtcd = (etcdEndpoint: string): Settings => ({ DATASTORE_TYPE: "etcdv3", ETCD_ENDPOINTS: etcdEndpoint });
const hostLocal = { type: "host-local", subnet: "usePodCidr" };
let prepared: Promise<void> | undefined;

const [test, cluster] = onCluster({
  nodes: 2,
  network: async (node, facts) => {
    await (prepared ??= prepareEtcdAndRoles(facts, []));
    await runInstaller(node, facts, { settings: settingsWith(hostLocal, onEtcd(facts.etcdEndpoint)) });
  },
});

/** Has the installer write another network config on each node, as a restart of the DaemonSet does. */
async function install(settings: Settings): Promise<void> {
  for (const node of cluster.nodes) await runInstaller(node, cluster, { settings });
}

/** What somebody types who has the access of an administrator. */
async function type(lines: string, env: Settings = etcdAccess(cluster)): Promise<string> {
  const { folder, kubeconfigFile } = cluster.api;
  return await new Reader(folder, { KUBECONFIG: kubeconfigFile, ...env }).type(lines);
}

/** The same on each node, as root. @returns what was printed there */
function typeOnNodes(shown: string): readonly string[] {
  const { kubeconfigFile } = cluster.api.issue("administrator", ["system:masters"], cluster.url);
  const env = { PATH: `${distFolder}:${process.env["PATH"] ?? ""}`, ETCD_ENDPOINTS: cluster.etcdEndpoint, KUBECONFIG: kubeconfigFile };
  return cluster.nodes.map((node) => node.must(["sh", "-c", shown.replaceAll("NODE", node.name)], { env }));
}

/** Types it twice. */
function expectAdopted(pods: readonly RunningPod[], adopting: string): void {
  const printed = typeOnNodes(adopting).join("");
  for (const { address } of pods) expect(printed).toContain(`${address} allocated to container `);
  for (const again of typeOnNodes(adopting)) expect(again).toStartWith("allocated 0 of ");
}

async function expectEachOnce(): Promise<void> {
  const addresses = (await listPods(cluster, [])).map(({ address }) => address);
  expect(addresses.toSorted()).toEqual([...new Set(addresses)].toSorted());
}

async function runReplicas(name: string): Promise<void> {
  await createReplicas(cluster, "Deployment", name, 6);
  await cluster.kubectl(["rollout", "status", `deployment/${name}`, "--timeout=180s"]);
}

/** Has all of them replaced while something else is done. */
async function whileReplaced(name: string, work: () => Promise<void>): Promise<void> {
  await Promise.all([work(), cluster.kubectl(["rollout", "restart", `deployment/${name}`])]);
  await cluster.kubectl(["rollout", "status", `deployment/${name}`, "--timeout=180s"]);
}

test("pods keep their addresses over both moves, none is given twice, no node stops being Ready, and all are released", async () => {
  for (const node of cluster.nodes) cluster.route(cluster.podCidrsOf(node)[0], node);
  const names = cluster.nodes.flatMap(({ name }) => [`kept-${name}`, `ended-${name}`]);
  const old = await runPods(
    cluster,
    names.map((name) => ({ name, node: name.replace(/^[a-z]+-/, "") })),
  );
  const kept = old.filter(({ name }) => name.startsWith("kept"));
  for (const { address } of old) expect(address).toStartWith("10.244.");
  await runReplicas("web");

  const begunAt = Date.now();
  await type(DOCUMENT.block("", "name: pod-cidrs"));
  await whileReplaced("web", () => install(settingsWith(SHOWN_IPAM.ipam, onEtcd(cluster.etcdEndpoint))));
  expectAdopted(kept, DOCUMENT.block("", "netplugctl ipam adopt"));
  expect(await type("netplugctl ipam check")).toContain("found 0 problems");
  await cluster.kubectl(["delete", "pod", "ended-node-1", "--timeout=60s"]);
  await type(DOCUMENT.one("netplugctl patch ippool pod-cidrs"));
  await runReplicas("more");
  await expectEachOnce();
  expect(await type("netplugctl ipam check")).toContain("found 0 problems");

  symlinkSync(join(repositoryRoot, "manifests"), join(cluster.api.folder, "manifests"));
  await type(DOCUMENT.block("", "> settings.yaml").replace("http://192.0.2.1:2379", cluster.api.etcdEndpoint), {});
  await whileReplaced("more", () => install(settingsWith(SHOWN_IPAM.ipam, { DATASTORE_TYPE: "kubernetes" })));
  await type(DOCUMENT.block("", "kubectl annotate"));
  expectAdopted(kept, DOCUMENT.block("", "DATASTORE_TYPE=kubernetes netplugctl ipam adopt"));
  await cluster.kubectl(["delete", "pod", "ended-node-2", "--timeout=60s"]);
  await type(DOCUMENT.block("", "apply -f settings.yaml"));
  await runReplicas("last");
  await untilAddressesAgree(cluster, 20);

  const [first, second] = kept;
  if (first === undefined || second === undefined) throw new Error("want a pod on each node");
  await pingFrom(cluster, first.name, [second.address]);
  const after = (await listPods(cluster, [])).filter(({ name }) => name.startsWith("kept"));
  expect(after).toEqual(kept);
  for (const node of cluster.nodes) {
    const path = "jsonpath={.status.conditions[?(@.type=='Ready')].lastTransitionTime}";
    const since = Date.parse(await cluster.kubectl(["get", "node", node.name, "-o", path]));
    expect(since).toBeLessThanOrEqual(begunAt);
    expect(readFileSync(node.path("/etc/cni/net.d/10-netplug.conflist"), "utf8")).toContain('"datastore_type":"kubernetes"');
  }
  expect(await cluster.warnings()).not.toContain("FailedCreatePodSandBox");

  await cluster.kubectl(["delete", "deployments", "--all", "--cascade=foreground", "--timeout=180s"]);
  await cluster.kubectl(["delete", "pods", "--all", "--timeout=180s"]);
  expect(await untilAddressesAgree(cluster, 0)).toEqual([]);
});
