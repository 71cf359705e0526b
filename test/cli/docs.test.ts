/** What documents for users show of netplugctl and of its files, besides docs/netplugctl.md: typed, and written, as it stands. */

import { expect, test as onEtcd } from "bun:test";
import { readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../../tools/repository.ts";
import { shareEtcdCliWorld } from "../support/cli/etcd-cli-world.ts";
import { shareKubernetesCliWorld } from "../support/cli/kubernetes-cli-world.ts";
import { ShownDocument } from "../support/document.ts";
import { Reader } from "../support/reader.ts";

const INSTALL = new ShownDocument("docs/install.md");
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
  const shown = INSTALL.block("", "export ETCD_ENDPOINTS");
  const printed = await onItsEtcd().type(shown.replace("http://127.0.0.1:2379", etcd.etcd.endpoint));
  expect(printed).toMatch(/pods +10\.65\.0\.0\/16/);
  expect(await etcd.stored("/netplug/v3/ippools/")).toEqual({ "/netplug/v3/ippools/pods": expect.objectContaining({ kind: "IPPool" }) });
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
const PLAYED_ELSEWHERE: readonly string[] = ["docs/netplugctl.md", "docs/try-it.md"];
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
