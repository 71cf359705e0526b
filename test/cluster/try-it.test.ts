/** What docs/try-it.md invites people to, done in its order. */

import { expect } from "bun:test";
import { CLUSTER_POOLS } from "../../tools/cluster/order.ts";
import { ShownDocument } from "../support/documents/document.ts";
import { eventually } from "../support/time/eventually.ts";
import { Reader } from "../support/documents/reader.ts";
import { addressesInBlocks, untilAddressesAgree } from "./support/addresses.ts";
import { BUSYBOX_IMAGE } from "./support/node-config.ts";
import { kubernetesAccess } from "./support/datastores.ts";
import { netplugOnKubernetes } from "./support/networks.ts";
import { onCluster } from "./support/on-cluster.ts";
import { listPods } from "./support/pods.ts";
import { shownKubeProxyConfig } from "./support/services.ts";

const TRY_IT = new ShownDocument("docs/try-it.md");
const NETPLUGCTL = new ShownDocument("docs/netplugctl.md");

const HALF_A_MINUTE_MS = 30_000;

const [test, cluster] = onCluster({ network: netplugOnKubernetes({ pools: CLUSTER_POOLS }), kubeProxy: shownKubeProxyConfig() });
const reader = (): Reader => new Reader(cluster.api.folder, kubernetesAccess(cluster));

/** The row of the table whose first cell holds a text, and the commands in it. */
function row(containing: string): { readonly commands: readonly string[]; readonly happens: string } {
  const [, does = "", happens = ""] = rows().find(([, cell = ""]) => cell.includes(containing)) ?? [];
  if (does === "") throw new Error(`docs/try-it.md: no row with "${containing}"`);
  return { commands: [...`${does} ${happens}`.matchAll(/`((?:netplugctl|kubectl) [^`]+)`/g)].map(([, command = ""]) => command), happens };
}

const rows = (): readonly RegExpExecArray[] => [...TRY_IT.text.matchAll(/^\| ([^|]+) \| ([^|]+) \|$/gm)].slice(1);

/** Of a namespace, by name. */
async function podsOf(namespace: string): Promise<ReadonlyMap<string, string>> {
  const template = '{range .items[*]}{.metadata.name} {.status.podIP}{"\\n"}{end}';
  const text = await cluster.kubectl(["--namespace", namespace, "get", "pods", "-o", `jsonpath=${template}`]);
  const lines = text.split("\n").filter((line) => line !== "");
  return new Map(lines.map((line): [string, string] => [line.split(" ")[0] ?? "", line.split(" ")[1] ?? ""]));
}

test("it has a test for each block of commands, and for each row of its table", () => {
  const blocks = TRY_IT.blocks("").map((block) => block.split("\n")[0]);
  expect(blocks).toEqual([
    // played by tools/cluster
    expect.stringContaining("npm run cluster"),
    expect.stringContaining("create deployment web"),
    expect.stringContaining("create deployment hello"),
    expect.stringContaining("kubectl apply -f - <<EOF"),
    expect.stringContaining("plugin type="),
  ]);
  expect(rows()).toHaveLength(5);
});

test("the cluster has the pools and the image that it says", async () => {
  expect([...TRY_IT.text.matchAll(/`pool-\d` \((\S+)\)/g)].map(([, cidr = ""]) => cidr)).toEqual([...CLUSTER_POOLS]);
  for (const cidr of CLUSTER_POOLS) expect(await reader().type("netplugctl get ippools")).toContain(cidr);
  expect(TRY_IT.text).toContain(`one image, \`${BUSYBOX_IMAGE}\``);
});

test("a look around shows three pods, each with an address from a block of its node", async () => {
  await reader().type(TRY_IT.block("", "create deployment web"));
  expect(await reader().type("netplugctl ipam check")).toContain("found 0 problems");
  const pods = await listPods(cluster, []);
  expect(pods).toHaveLength(3);
  const ask = TRY_IT.one("netplugctl ipam show");
  for (const { name, node, address } of pods) {
    expect(await addressesInBlocks(cluster, node)).toContain(address);
    expect(await reader().type(ask.replace("ADDRESS", address))).toContain(name);
  }
});

test("a pod behind a Service answers at its address, and at the node's port; a pod reaches the API server at that of its Service", async () => {
  const lines = TRY_IT.block("", "create deployment hello").trim().split("\n");
  const ask = lines.pop() ?? "";
  const shown = await reader().type(lines.join("\n"));
  const pods = await listPods(cluster, ["-l", "app=hello"]);
  const names = pods.map(({ name }) => name);
  expect(names).toHaveLength(3);
  // kube-proxy hears of the Service after kubectl has made it
  await eventually(async () => expect(names).toContain((await reader().type(ask)).trim()));
  const [, port = ""] = /service\/hello .* 80:(\d+)\/TCP/.exec(shown) ?? [];
  const onNode = TRY_IT.one("busybox nc")
    .replace("PORT", port)
    .replace("NODE-ADDRESS", cluster.nodes[0].wire.addresses[0] ?? "");
  expect(names).toContain(cluster.nodes[0].must(onNode.split(" ")).trim());

  // as the command does
  cluster.route(CLUSTER_POOLS[0], cluster.nodes[0]);
  const request = `printf 'GET / HTTP/1.0\r\n\r\n' | nc -w 3 $KUBERNETES_SERVICE_HOST $KUBERNETES_SERVICE_PORT`;
  expect(await cluster.kubectl(["exec", "deployment/web", "--", "sh", "-c", request])).toContain("HTTP request to an HTTPS server");
  await reader().type(TRY_IT.one("kubectl delete deployment,service"));
});

test("a pod gets the two addresses that it asks for; of ten pods in a pool of eight two wait, and say why", async () => {
  const shown = await reader().type(TRY_IT.block("", "cni.netplug.io/ipAddrs"));
  expect(shown).toContain('[{"ip":"10.65.0.7"},{"ip":"fd65::7"}]');
  await eventually(async () => {
    const addresses = [...(await podsOf("shop")).values()].filter((address) => address !== "");
    expect(new Set(addresses).size).toBe(8);
  });
  const said = TRY_IT.block("", "plugin type=").replaceAll("…", "").trim();
  const ask = TRY_IT.one("kubectl --namespace shop events");
  await eventually(async () => expect(await reader().type(ask)).toContain(said));
});

test("a pool is disabled: the pod that replaces one of it is refused", async () => {
  const { commands } = row("then delete a pod of `shop`");
  expect(commands).toHaveLength(1);
  await reader().type(commands[0] ?? "");
  const before = await podsOf("shop");
  const [victim] = [...before].find(([, address]) => address !== "") ?? [];
  await cluster.kubectl(["--namespace", "shop", "delete", "pod", victim ?? ""]);
  const replacement = await eventually(async () => {
    const name = [...(await podsOf("shop")).keys()].find((one) => !before.has(one));
    if (name === undefined) throw new Error("want a pod that replaces the deleted one");
    expect(await cluster.warnings("shop")).toMatch(new RegExp(`Pod/${name} .*pool "shop".*disabled`));
    return name;
  });
  expect((await podsOf("shop")).get(replacement)).toBe("");
  await cluster.kubectl(["delete", "namespace", "shop", "--wait=false"]);
});

test("a second pod asks for the first one's address: it is refused, and told who has it", async () => {
  expect(row("in a second pod").commands).toEqual([]);
  const [manifest = ""] = /^apiVersion: v1\nkind: Pod\n[\s\S]*?(?=^EOF$)/m.exec(TRY_IT.block("", "cni.netplug.io/ipAddrs")) ?? [];
  await cluster.kubectl(["apply", "-f", "-"], manifest.replace("name: fixed", "name: second").replace(', "fd65::7"', ""));
  await eventually(async () => expect(await cluster.warnings("default")).toMatch(/10\.65\.0\.7.*fixed/));
  await cluster.kubectl(["delete", "pod", "second", "--timeout=180s"]);
});

test("the datastore is locked: new pods wait, and the node is NotReady and says why, until it is unlocked", async () => {
  expect(row("netplugctl.md#lock-and-unlock").commands).toEqual([]);
  const lines = NETPLUGCTL.block("", "datastoreReady").trim().split("\n");
  expect(lines).toHaveLength(3);
  const [lock = "", , unlock = ""] = lines;
  await reader().type(lock);
  // past the scheduler, which passes over a node that is NotReady
  const overrides = JSON.stringify({ spec: { nodeName: "node-1" } });
  await cluster.kubectl(["run", "late", `--image=${BUSYBOX_IMAGE}`, `--overrides=${overrides}`]);
  const ready = (): Promise<string> =>
    cluster.kubectl(["get", "nodes", "-o", 'jsonpath={.items[0].status.conditions[?(@.type=="Ready")]}']);
  await eventually(async () => expect(await ready()).toMatch(/locked.*"status":"False"/), HALF_A_MINUTE_MS);
  await eventually(async () => expect(await cluster.warnings("default")).toMatch(/Pod\/late .*locked/));
  expect((await podsOf("default")).get("late")).toBe("");
  await reader().type(unlock);
  await eventually(async () => expect(await ready()).toContain('"status":"True"'));
  await cluster.kubectl(["wait", "--for=condition=Ready", "pod/late", "--timeout=180s"]);
  await cluster.kubectl(["delete", "pod", "late", "--timeout=180s"]);
});

test("a node is drained: the addresses of its pods are free again", async () => {
  const { commands } = row("kubectl drain");
  expect(commands).toHaveLength(3);
  const [drain = "", show = "", uncordon = ""] = commands;
  await reader().type(drain);
  await eventually(async () => expect(await addressesInBlocks(cluster)).toEqual([]));
  expect(await reader().type(show)).toMatch(/pool-0 +\S+ +\d+ +0 /);
  await reader().type(uncordon);
  await cluster.kubectl(["rollout", "status", "deployment/web", "--timeout=180s"]);
});

test("the address of a running pod is released: ipam check finds it", async () => {
  const { commands, happens } = row("of a running pod");
  expect(commands).toHaveLength(2);
  const [address = ""] = await untilAddressesAgree(cluster, 3);
  await reader().type((commands[0] ?? "").replace("ADDRESS", address));
  const [, check = "", found = ""] = /^`(.*)` finds it: `(.*)`$/.exec(happens) ?? [];
  const { status, output } = await reader().try(check);
  expect([status, output]).toEqual([1, expect.stringContaining(found)]);
  expect(output).toContain(address);
});
