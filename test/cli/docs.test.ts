/** What documents for users show of netplugctl and of its files, besides those of netplugctl itself: typed, and written, as it stands. */

import { expect, test as onEtcd } from "bun:test";
import { readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { joinEndpointName } from "../../src/api/endpoint-names.ts";
import { repositoryRoot } from "../../tools/repository.ts";
import { shareEtcdCliWorld } from "../support/cli/etcd-cli-world.ts";
import { shareKubernetesCliWorld } from "../support/cli/kubernetes-cli-world.ts";
import { deleteCrds } from "../support/servers/delete-crds.ts";
import { allocateFor } from "../support/cli/container-addresses.ts";
import { poolYaml, resourceYaml } from "../support/cli/documents.ts";
import { createNode, createPod, deletePod } from "../support/servers/kubernetes.ts";
import { ShownDocument } from "../support/documents/document.ts";
import { Reader } from "../support/documents/reader.ts";

const INSTALL = new ShownDocument("docs/install.md");
const CONTAINER_HOSTS = new ShownDocument("docs/container-hosts.md");
const TROUBLESHOOTING = new ShownDocument("docs/troubleshooting.md");
const RESOURCES = new ShownDocument("docs/resources.md");

const etcd = shareEtcdCliWorld();
const onItsEtcd = (): Reader => new Reader(etcd.folder, { ETCD_ENDPOINTS: etcd.etcd.endpoint });

const [onKubernetes, cluster] = shareKubernetesCliWorld(({ api }) =>
  symlinkSync(join(repositoryRoot, "manifests"), join(api.folder, "manifests")),
);
const onItsCluster = (): Reader => new Reader(cluster.api.folder, { KUBECONFIG: cluster.api.kubeconfigFile });

/** Every example, each in a file. @returns the paths by kind */
function writeExamples(folder: string): ReadonlyMap<string, string> {
  const examples = RESOURCES.blocks("yaml").map((text): [string, string] => [/^kind: (\w+)$/m.exec(text)?.[1] ?? "", text]);
  return new Map(
    examples.map(([kind, text]) => {
      writeFileSync(join(folder, `${kind}.yaml`), text);
      return [kind, join(folder, `${kind}.yaml`)];
    }),
  );
}

onEtcd("the datastore of a container host is prepared, and has the pool", async () => {
  const shown = CONTAINER_HOSTS.block("", "export ETCD_ENDPOINTS");
  const printed = await onItsEtcd().type(shown.replace("http://127.0.0.1:2379", etcd.etcd.endpoint));
  expect(printed).toMatch(/pods +10\.65\.0\.0\/16/);
  expect(await etcd.stored("/netplug/v3/ippools/")).toEqual({ "/netplug/v3/ippools/pods": expect.objectContaining({ kind: "IPPool" }) });
});

onEtcd("all that a container host had which is gone for good is released, and nothing of a host with a similar name", async () => {
  await etcd.reset();
  await onItsEtcd().type("netplugctl init");
  await etcd.createPool("blue", "10.65.0.0/24");
  const containers = [
    ["c1", "rack-1"],
    ["c2", "rack-1"],
    ["c3", "rack-1-cni"],
    ["c4", "rack"],
  ] as const;
  for (const [containerID, node] of containers) {
    const name = joinEndpointName(node, "cni", containerID, "eth0");
    const ip = await allocateFor(etcd.datastore, containerID, node, { agoMs: 120_000, owner: { endpoint: name, namespace: "default" } });
    const spec = { orchestrator: "cni", node, containerID, endpoint: "eth0", ipNetworks: [`${ip}/32`] };
    await etcd.done(["apply", "-f", "-"], { stdin: resourceYaml("WorkloadEndpoint", name, spec, "default") });
  }
  const shown = CONTAINER_HOSTS.block("", "node=NODE").replace("NODE", "rack-1");
  expect(await onItsEtcd().type(shown)).toContain("released 2 of 2 leaked addresses");
  expect(await onItsEtcd().type("netplugctl ipam check")).toContain("2 allocations, 2 endpoints\nfound 0 problems");
  expect(await onItsEtcd().type("netplugctl get wep -A")).toMatch(/ c3 +rack-1-cni [^]* c4 +rack /);
});

onKubernetes("a cluster is prepared: CRDs, roles and the pool (needs cluster)", async () => {
  const shown = INSTALL.block("", "kubectl netplug init");
  // what comes before is the machine's own, /usr/local/bin
  await onItsCluster().type(shown.slice(shown.indexOf("kubectl netplug init")));
  expect(await cluster.read("ippools", "pods")).toMatchObject({ spec: { cidr: "10.65.0.0/16" } });
  expect(await cluster.read("clusterrole", "netplug-cni")).toMatchObject({ kind: "ClusterRole" });
});

onEtcd("the examples of docs/resources.md are valid, and what netplugctl applies on etcd", async () => {
  await etcd.reset();
  await onItsEtcd().type("netplugctl init");
  const examples = writeExamples(etcd.folder);
  expect([...examples.keys()]).toEqual(["IPPool", "IPReservation", "IPAMConfiguration", "Node"]);
  const commands = [RESOURCES.one("netplugctl validate"), RESOURCES.one("netplugctl apply")];
  for (const file of examples.values()) for (const command of commands) await onItsEtcd().type(command.replace("FILE", file));
  expect(Object.keys(await etcd.stored("/netplug/v3/")).sort()).toEqual([
    "/netplug/v3/clusterinformations/default",
    "/netplug/v3/ipamconfigurations/default",
    "/netplug/v3/ippools/blue",
    "/netplug/v3/ipreservations/gateways",
    "/netplug/v3/nodes/n1",
    ...["default", "kube-admin", "kube-baseline"].map((name) => `/netplug/v3/tiers/${name}`),
  ]);
  expect(await onItsEtcd().type("netplugctl ipam show --show-configuration")).toMatch(/strictAffinity +true/i);
});

onKubernetes("the API server takes them too, but for the node, and explains them (needs cluster)", async () => {
  await cluster.api.kubectl(["delete", "ippools", "--all"]);
  const { Node: _node, ...examples } = Object.fromEntries(writeExamples(cluster.folder));
  for (const file of Object.values(examples)) await onItsCluster().type(`kubectl apply -f ${file}`);
  expect(await cluster.read("ippools", "blue")).toMatchObject({ spec: { nodeSelector: 'rack == "r2"' } });
  const [, meaning = ""] = /^\| `cidr` \| [^|]+ \| [^|]+ \| (.*) \|$/m.exec(RESOURCES.text) ?? [];
  expect(meaning).not.toBe("");
  expect((await onItsCluster().type(RESOURCES.one("kubectl explain"))).replaceAll(/\s+/g, " ")).toContain(meaning);
});

onKubernetes("a role that somebody has changed is as it was after the command of docs/troubleshooting.md (needs cluster)", async () => {
  const readRules = async (): Promise<unknown> => (await cluster.read<{ rules: unknown }>("clusterrole", "netplug-cni")).rules;
  await onItsCluster().type("kubectl apply --server-side --force-conflicts -f manifests/rbac.yaml");
  const before = await readRules();
  const patch = JSON.stringify([{ op: "remove", path: "/rules/0" }]);
  await cluster.api.kubectl(["patch", "clusterrole", "netplug-cni", "--type=json", "-p", patch, "--field-manager=somebody"]);
  expect(await readRules()).not.toEqual(before);
  await onItsCluster().type(TROUBLESHOOTING.one("kubectl apply --server-side"));
  expect(await readRules()).toEqual(before);
});

onKubernetes("where the blocks were deleted, no pod starts until those are gone that the check names (needs cluster)", async () => {
  await onItsCluster().type("kubectl netplug init");
  await createNode(cluster.api, "n1", []);
  await createPod(cluster.api, { name: "web", spec: { nodeName: "n1" }, annotations: { containerID: "c1", podIPs: "10.65.0.7/32" } });
  await deleteCrds(cluster.api, ["clusterinformations.netplug.io", "ippools.netplug.io", "ipamblocks.netplug.io"]);
  writeFileSync(join(cluster.folder, "pools.yaml"), poolYaml("pods", "10.65.0.0/24"));
  const reader = new Reader(cluster.folder, { KUBECONFIG: cluster.api.kubeconfigFile, DATASTORE_TYPE: "kubernetes" });
  const { output } = await reader.try(TROUBLESHOOTING.block("", "-f pools.yaml"));
  expect(output).toMatch(/warning: address 10\.65\.0\.7 of a pod is allocated to nobody/);
  expect(output).toMatch(/unallocated-in-use +10\.65\.0\.7 +used by pod "default\/web"/);
  expect(await cluster.read("clusterinformation", "default")).toMatchObject({ spec: { datastoreReady: false } });
  await deletePod(cluster.api, { namespace: "default", name: "web" });
  await reader.type("netplugctl ipam check");
  await reader.type(TROUBLESHOOTING.block("", '"datastoreReady":true'));
  expect(await cluster.read("clusterinformation", "default")).toMatchObject({ spec: { datastoreReady: true } });
});

/** What a reader fills in. */
const FILLED: Readonly<Record<string, string>> = {
  KIND: "ippool",
  NAME: "blue",
  FILE: "IPPool.yaml",
  ADDRESS: "10.65.0.7",
  "=A": "=10.65.0.7",
};
/** What is only named, and wants more than its name. */
const COMPLETED: Readonly<Record<string, string>> = {
  "netplugctl delete workloadendpoint": "netplugctl delete workloadendpoint n1-cni-gone-eth0",
  "netplugctl ipam configure": "netplugctl ipam configure --strict-affinity=true",
  "netplugctl ipam release": "netplugctl ipam release --ip=10.65.0.7",
};
/** Played by netplugctl-docs.test.ts, and by test/cluster/try-it.test.ts. */
const PLAYED_ELSEWHERE: readonly string[] = ["docs/netplugctl.md", "docs/address-forecast.md", "docs/address-repair.md", "docs/try-it.md"];
const DOCUMENTS = ["README.md", ...readdirSync(join(repositoryRoot, "docs")).map((name) => `docs/${name}`)].filter(
  (path) => path.endsWith(".md") && !PLAYED_ELSEWHERE.includes(path),
);
const COMMANDS = [...new Set(DOCUMENTS.flatMap((path) => new ShownDocument(path).inlineWith("netplugctl")))];

onEtcd.each(COMMANDS)("%s is a command", async (shown) => {
  writeExamples(etcd.folder);
  const command = COMPLETED[shown] ?? Object.entries(FILLED).reduce((text, [place, value]) => text.replace(place, value), shown);
  const { status, output } = await onItsEtcd().try(command);
  // whether there is what it names or not: 2 would be wrong usage
  expect([0, 1], output).toContain(status);
});
