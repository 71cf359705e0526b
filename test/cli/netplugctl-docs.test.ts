/** What the documents of netplugctl show, typed as it stands, on both datastores; kubectl and etcdctl say what has come of it. */

import { expect, test as onEtcd } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../../tools/repository.ts";
import type { CliWorld } from "../support/cli/cli-world.ts";
import { allocateFor } from "../support/cli/container-addresses.ts";
import { endpointName, poolYaml, resourceYaml } from "../support/cli/documents.ts";
import { shareEtcdCliWorld } from "../support/cli/etcd-cli-world.ts";
import { shareKubernetesCliWorld } from "../support/cli/kubernetes-cli-world.ts";
import { ledgerLine } from "../support/cli/ledger-line.ts";
import { ShownDocument } from "../support/documents/document.ts";
import { eventually } from "../support/time/eventually.ts";
import { createNode, createPod } from "../support/servers/kubernetes.ts";
import { Reader } from "../support/documents/reader.ts";

const DOCUMENT = new ShownDocument("docs/netplugctl.md");
const FORECAST = new ShownDocument("docs/address-forecast.md");
const REPAIR = new ShownDocument("docs/address-repair.md");
const LONG_AGO_MS = 120_000;

const [onKubernetes, cluster] = shareKubernetesCliWorld();
const etcd = shareEtcdCliWorld();

/** The commands that they show, each once: between backticks, and the short ones that follow another one in its cell. */
function shownCommands(): ReadonlySet<string> {
  const cells = [...DOCUMENT.text.matchAll(/^\| [^|]+ \| (`.*) \|$/gm)].map(([, cell = ""]) => cell);
  const pieces = cells.flatMap((cell) => [...cell.matchAll(/`((?:get|label) [^`]+)`/g)].map(([, piece = ""]) => `netplugctl ${piece}`));
  const inline = [DOCUMENT, FORECAST, REPAIR].flatMap((document) => document.inline());
  const commands = inline.filter((code) => code.includes("netplugctl ") || code.startsWith("kubectl "));
  const lines = [DOCUMENT.block("", "datastoreReady"), ...REPAIR.blocks("")].flatMap((block) => block.trim().split("\n"));
  return new Set([...commands, ...pieces, ...lines]);
}

const typed = new Set<string>();

/** Types a command of a document, in which the reader fills in what is written in capitals or left out. @returns what it printed */
async function type(reader: Reader, shown: string, filled: Readonly<Record<string, string>> = {}): Promise<string> {
  expect(shownCommands()).toContain(shown);
  typed.add(shown);
  return await reader.type(Object.entries(filled).reduce((command, [place, text]) => command.replace(place, text), shown));
}

/** The files that the commands name, in the folder of the reader. */
function writeFiles(folder: string): void {
  writeFileSync(join(folder, "pools.yaml"), poolYaml("pods", "10.65.0.0/16"));
  const spec = { containers: [{ name: "main", image: "localhost/none:1" }] };
  const annotations = { "cni.netplug.io/ipAddrs": '["10.65.0.9"]' };
  writeFileSync(
    join(folder, "web.yaml"),
    JSON.stringify({ apiVersion: "v1", kind: "Pod", metadata: { name: "to-come", annotations }, spec }),
  );
  writeFileSync(join(folder, "others.yaml"), resourceYaml("IPReservation", "gateways", { reservedCIDRs: ["10.65.0.0/28"] }));
}

/** The labels of two endpoints on node n1, by the names of their workloads. */
const ENDPOINTS = { web: { app: "web" }, new: { app: "web", canary: "true" } } as const;

/** What is the same on both datastores, once they are prepared and node n1 and {@link ENDPOINTS} exist. @param read one object as the datastore's own client has it */
async function playCommon(reader: Reader, world: CliWorld, read: (kind: string, name: string) => Promise<unknown>): Promise<void> {
  expect(await type(reader, "netplugctl validate -f pools.yaml")).toContain("valid");
  await expect(type(reader, "netplugctl diff -f pools.yaml")).rejects.toThrow(/\+ {2}cidr: 10\.65\.0\.0\/16/);
  expect(await read("ippools", "pods")).toBeUndefined();
  await type(reader, "netplugctl apply -f pools.yaml");
  expect(await read("ippools", "pods")).toMatchObject({ spec: { cidr: "10.65.0.0/16" } });
  await type(reader, "netplugctl create -f …", { "…": "others.yaml" });
  await type(reader, "netplugctl replace -f …", { "…": "others.yaml" });
  expect(await read("ipreservations", "gateways")).toMatchObject({ spec: { reservedCIDRs: ["10.65.0.0/28"] } });

  expect(await type(reader, "netplugctl get ippools -o wide")).toContain("10.65.0.0/16");
  expect(await type(reader, "netplugctl get ipp pods -o yaml")).toContain("cidr: 10.65.0.0/16");
  await type(reader, "netplugctl get ippools,ipreservations,ipamconfigurations -o yaml > addresses.yaml");
  expect(await reader.type("netplugctl apply -f addresses.yaml")).toMatch(/^ippool\/pods unchanged\nipreservation\/gateways unchanged\n/);
  await reader.type('netplugctl patch ipreservation gateways -p \'{"spec":{"reservedCIDRs":["10.65.0.0/27"]}}\'');
  await expect(reader.type("netplugctl apply -f addresses.yaml")).rejects.toThrow("somebody changed it");
  await reader.type(DOCUMENT.inline().find((code) => code.startsWith("sed ")) ?? "");
  expect(await reader.type("netplugctl apply -f addresses.yaml")).toMatch(/^ippool\/pods unchanged\nipreservation\/gateways configured\n/);
  expect(await read("ipreservations", "gateways")).toMatchObject({ spec: { reservedCIDRs: ["10.65.0.0/28"] } });
  for (const command of ["netplugctl get wep -A", "netplugctl get wep -A -o wide"])
    expect(await type(reader, command)).toMatch(/^NAMESPACE.*\ndefault +new +n1\b.*\ndefault +web +n1\b.*\n$/);
  const withLabels = await type(reader, "netplugctl get wep -A -l 'app in (web,api),!canary' --show-labels");
  expect(withLabels).toMatch(/^NAMESPACE.*\ndefault +web +n1\b.*app=web.*\n$/);

  // Ctrl-C is `timeout` here, whose status is no success.
  const followed = await type(reader, "netplugctl get workloadendpoints -A --watch", { "netplugctl get": "! timeout 3 netplugctl get" });
  expect(followed).toMatch(/^EVENT +NAMESPACE.*\nADDED +default +new +n1\b.*\nADDED +default +web +n1\b.*\n$/);

  await type(reader, "netplugctl label node n1 rack=r2");
  expect(await read("nodes", "n1")).toMatchObject({ metadata: { labels: { rack: "r2" } } });
  expect(await type(reader, "netplugctl get nodes -l rack=r2,tier!=db")).toContain("n1");
  await type(reader, "netplugctl label node n1 rack-");
  expect(await type(reader, "netplugctl get nodes -l rack=r2,tier!=db")).not.toContain("n1");

  await type(reader, `netplugctl patch ippool pods -p '{"spec":{"disabled":true}}'`);
  expect(await read("ippools", "pods")).toMatchObject({ spec: { disabled: true } });
  await type(reader, "netplugctl delete ippool pods");
  expect(await read("ippools", "pods")).toBeUndefined();
  await type(reader, "netplugctl apply -f pools.yaml");

  await type(reader, "netplugctl ipam configure --strict-affinity=true");
  await type(reader, "netplugctl ipam configure --strict-affinity=true --max-blocks-per-host=4");
  await type(reader, "netplugctl ipam configure --ip-cooldown-seconds=180");
  expect(await read("ipamconfigurations", "default")).toMatchObject({ spec: { strictAffinity: true, maxBlocksPerHost: 4 } });

  // of a container whose endpoint is gone
  const leak = async (): Promise<void> => {
    await allocateFor(world.datastore, "gone", "n1", {
      address: "10.65.0.7",
      owner: { endpoint: "n1-cni-gone-eth0", namespace: "default" },
      agoMs: LONG_AGO_MS,
    });
  };
  await leak();
  expect(await type(reader, "netplugctl ipam show")).toMatch(/pods +10\.65\.0\.0\/16 +65536 +1 /);
  expect(await type(reader, "netplugctl ipam show --ip=10.65.0.7")).toContain("gone");
  expect(await type(reader, "netplugctl ipam explain --node=n1")).toMatch(
    / would get 10\.65\..* of pool "pods", .*\n.*\n +1 +pods +10\.65\.0\.0\/16\n/,
  );
  expect(await type(reader, "netplugctl ipam explain -f web.yaml --node=n1")).toContain("would get 10.65.0.9 of pool");
  await expect(type(reader, "netplugctl ipam check")).rejects.toThrow(/leaked-address +10\.65\.0\.7/);
  await type(reader, "netplugctl ipam release --ip=10.65.0.7");
  expect(await type(reader, "netplugctl ipam check")).toContain("found 0 problems");
  await leak();
  await type(reader, "netplugctl ipam check -o json | netplugctl ipam release --from-report=-");
  expect(await type(reader, "netplugctl ipam check")).toContain("found 0 problems");

  // the machine's own folder is not the test's
  const adopted = await type(reader, "netplugctl ipam adopt --node=n1", { "--node=n1": '--node=n1 --run-dir="$PWD"' });
  expect(adopted).toContain("addresses in use on this host");
  const corrected = "netplugctl ipam adopt --node=n1 --instead-of=n11";
  expect(await type(reader, corrected, { "--node=n1": '--node=n1 --run-dir="$PWD"' })).toContain("addresses in use on this host");

  const [lock = "", split = "", unlock = "", ...more] = DOCUMENT.block("", "datastoreReady").trim().split("\n");
  expect([lock, split, unlock, ...more]).toEqual([
    expect.stringContaining("false"),
    "netplugctl ipam split 4 --name pods",
    expect.stringContaining("true"),
  ]);
  await type(reader, lock);
  expect(await read("clusterinformations", "default")).toMatchObject({ spec: { datastoreReady: false } });
  expect(await type(reader, "netplugctl version")).toContain("locked");
  await type(reader, split);
  await type(reader, unlock);
  expect(await read("clusterinformations", "default")).toMatchObject({ spec: { datastoreReady: true } });
  for (const index of [0, 1, 2, 3])
    expect(await read("ippools", `split-pods-${index}`)).toMatchObject({ spec: { cidr: `10.65.${64 * index}.0/18` } });

  expect(await type(reader, "netplugctl --help")).toContain("netplugctl apply");
  expect(await type(reader, "netplugctl COMMAND --help", { COMMAND: "ipam split" })).toContain("netplugctl ipam split");
  expect(await type(reader, "netplugctl help COMMAND", { COMMAND: "ipam split" })).toContain("netplugctl ipam split");
}

onKubernetes("its commands work on the Kubernetes API (needs cluster)", async () => {
  const { api } = cluster;
  writeFiles(api.folder);
  const reader = new Reader(api.folder, {
    DATASTORE_TYPE: "kubernetes",
    KUBECONFIG: api.kubeconfigFile,
    MANIFESTS: join(repositoryRoot, "manifests"),
  });
  const read = async (kind: string, name: string): Promise<unknown> => {
    const text = await api.kubectl(["get", kind === "nodes" ? kind : `${kind}.netplug.io`, name, "-o", "json", "--ignore-not-found"]);
    return text === "" ? undefined : JSON.parse(text);
  };
  await createNode(api, "n1", []);
  for (const [name, labels] of Object.entries(ENDPOINTS)) await createPod(api, { name, labels, spec: { nodeName: "n1" } });
  await type(reader, "kubectl apply -f manifests/crds.yaml", { manifests: "$MANIFESTS" });
  await type(reader, "netplugctl init");
  const context = (await api.kubectl(["config", "current-context"])).trim();
  await playCommon(reader, cluster, read);
  expect(await type(reader, "netplugctl --kubeconfig FILE --context NAME get ippools", { FILE: "$KUBECONFIG", NAME: context })).toContain(
    "split-pods-0",
  );
  expect(await type(reader, "kubectl netplug --context NAME ipam show", { NAME: context })).toContain("split-pods-0");
  expect(await type(reader, "netplugctl ipam explain --pod=web -n shop", { shop: "default" })).toContain(
    'pod "default/web" on node "n1" would get 10.65.',
  );
  expect(await reader.type(FORECAST.block("", "netplugctl ipam explain -f"))).toContain("pod/to-come created");
  for (const command of ["kubectl get ippools", "kubectl get ippools.netplug.io"])
    expect(await type(reader, command)).toContain("split-pods-0");
  await type(reader, "kubectl describe node NODE", { NODE: "n1" });
  await api.kubectl(["apply", "--server-side", "-f", join(repositoryRoot, "manifests/rbac.yaml")]);
  await type(reader, "kubectl create clusterrolebinding NAME --clusterrole=netplug-admin --user=USER", { NAME: "ann", USER: "ann" });
  // an authorizer learns of a binding a little later
  await eventually(async () => expect(await reader.type("kubectl --as=ann auth can-i patch ippools.netplug.io")).toStartWith("yes"));
});

onEtcd("its commands work on etcd", async () => {
  writeFiles(etcd.folder);
  const reader = new Reader(etcd.folder, { ETCD_ENDPOINTS: etcd.etcd.endpoint });
  const read = async (kind: string, name: string): Promise<unknown> =>
    (await etcd.stored(`/netplug/v3/${kind}/${name}`))[`/netplug/v3/${kind}/${name}`];
  await type(reader, "netplugctl init");
  writeFileSync(join(etcd.folder, "node.yaml"), new ShownDocument("docs/resources.md").block("yaml", "kind: Node"));
  await reader.type("netplugctl apply -f node.yaml && netplugctl label node n1 rack-");
  for (const [containerID, labels] of Object.entries(ENDPOINTS)) {
    const metadata = { name: endpointName({ containerID, node: "n1" }), namespace: "default", labels };
    const spec = { orchestrator: "cni", node: "n1", containerID, endpoint: "eth0" };
    await etcd.create(JSON.stringify({ apiVersion: "netplug.io/v3", kind: "WorkloadEndpoint", metadata, spec }));
  }
  await playCommon(reader, etcd, read);
  writeFileSync(join(etcd.folder, "cni.log.gz"), Bun.gzipSync(ledgerLine(1, "DEL")));
  expect(await type(reader, "zcat cni.log.gz | netplugctl ledger --file -")).toMatch(/ DEL +0 +c1 /);
});

/** What is played elsewhere, or is no command of its own. */
const NOT_TYPED: Readonly<Record<string, string>> = {
  "kubectl netplug": "the program's name",
  "kubectl annotate pod POD cni.netplug.io/podIP- cni.netplug.io/podIPs- cni.netplug.io/containerID-":
    "of a pod that does not start: test/cli/kubernetes-copied-record.test.ts",
  "kubectl label": "a part of what a problem names: test/cli/kubernetes-ipam.test.ts",
  "netplugctl completion fish | source": "in fish: test/cli/completion.test.ts",
  "source <(netplugctl completion bash)": "in bash: test/cli/completion.test.ts",
  "netplugctl ledger": "reads a node's log: test/cli/ledger.test.ts",
};

onKubernetes("no command of them is left out (needs cluster)", () => {
  expect([...shownCommands()].filter((command) => !typed.has(command)).sort()).toEqual(Object.keys(NOT_TYPED).sort());
});
