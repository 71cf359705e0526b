/** What docs/moving.md shows of a move from etcd to the Kubernetes API, typed as it stands, while pods run. */

import { afterEach, beforeEach, expect } from "bun:test";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../../tools/repository.ts";
import type { CniJson } from "../support/programs/cni.ts";
import type { Json } from "../support/programs/cni-call.ts";
import { applyPool, mustNetplugctl, runNetplugctl } from "../support/cli/netplugctl.ts";
import { ShownDocument } from "../support/documents/document.ts";
import { Reader } from "../support/documents/reader.ts";
import { KubernetesNodeDatastore } from "../support/node/kubernetes-node-datastore.ts";
import { TestNetns } from "../support/node/netns.ts";
import { TestNode } from "../support/node/test-node.ts";
import { type EtcdServer, startEtcd } from "../support/servers/etcd.ts";
import { createNode, createPod, deletePod, reportAddresses } from "../support/servers/kubernetes.ts";
import { onApiServer } from "../support/servers/on-api-server.ts";
import { readPodRecords } from "../support/servers/pod-records.ts";

const DOCUMENT = new ShownDocument("docs/moving.md");

/** A node whose datastore will be the Kubernetes API. */
async function start(): Promise<{ readonly node: TestNode; readonly datastore: KubernetesNodeDatastore } & AsyncDisposable> {
  const datastore = await KubernetesNodeDatastore.start("node-a");
  const node = await TestNode.startOn(datastore, []);
  symlinkSync(join(repositoryRoot, "manifests"), join(node.folder, "manifests"));
  return { node, datastore, [Symbol.asyncDispose]: async () => await node[Symbol.asyncDispose]() };
}
const [test, world] = onApiServer(start);

interface Pod {
  readonly name: string;
  readonly containerID: string;
  readonly netns: TestNetns;
  readonly ifname: string;
  readonly result: CniJson;
}

let pods: AsyncDisposableStack;
let etcd: EtcdServer;
beforeEach(async () => {
  pods = new AsyncDisposableStack();
  etcd = await startEtcd({});
  pods.use(etcd);
  const env = { ETCD_ENDPOINTS: etcd.endpoint };
  await mustNetplugctl(env, ["init"]);
  await applyPool(env, "blue", { cidr: "10.65.0.0/24", blockSize: 28 });
  await applyPool(env, "blue-6", { cidr: "fd65::/112" });
  await applyPool(env, "unused", { cidr: "10.67.0.0/24", disabled: true });
  const spec = { reservedCIDRs: ["10.65.0.0/30"] };
  const reservation = { apiVersion: "netplug.io/v3", kind: "IPReservation", metadata: { name: "gateways" }, spec };
  await mustNetplugctl(env, ["apply", "-f", "-"], JSON.stringify(reservation));
  await mustNetplugctl(env, ["ipam", "configure", "--strict-affinity=true"]);
});
afterEach(async () => {
  await using _pods = pods;
  const { node, datastore } = world;
  await node.call("GC", { config: after({ "cni.dev/valid-attachments": [] }) });
  const { items } = JSON.parse(await node.ctl(["get", "ippools", "-o", "json"])) as { readonly items: readonly { metadata: Json }[] };
  for (const { metadata } of items) await node.ctl(["delete", "ippool", String(metadata["name"])]);
  await datastore.api.kubectl(["delete", "pods", "--all", "--force", "--grace-period=0"]);
});

const both = { ipam: { assign_ipv6: "true" } };
const after = (more: Json = {}): Json => world.node.config({ ...both, ...more });
/** Of before the move. */
function before(more: Json = {}): Json {
  const { datastore_type: _, ...config } = world.node.config({ ...both, policy: { type: "k8s" }, ...more });
  return { ...config, etcd_endpoints: etcd.endpoint };
}

/** A container of a pod, which is made unless it is there. */
async function add(name: string, config: Json, more: { readonly ifname?: string; readonly of?: Pod } = {}): Promise<Pod> {
  const { node, datastore } = world;
  const { ifname = "eth0", of } = more;
  if (of === undefined) await createPod(datastore.api, { name, spec: { nodeName: node.nodename } }).catch(() => undefined);
  const { containerID, netns } = of ?? { containerID: node.newContainerID(), netns: pods.use(new TestNetns()) };
  const result = await node.add(netns, { containerID, ifname, config, args: argsOf(name) });
  const pod = { name, containerID, netns, ifname, result };
  if (of === undefined) await reportAddresses(datastore.api, { namespace: "default", name }, addressesOf([pod]));
  return pod;
}

const argsOf = (name: string): string => `K8S_POD_NAMESPACE=default;K8S_POD_NAME=${name}`;

async function del({ name, containerID, netns, ifname }: Pod, config: Json): Promise<void> {
  await world.node.del({ containerID, netns: netns.path, ifname, config, args: argsOf(name) });
}

/** What the kernel says. */
function addressesOf(those: readonly Pod[]): readonly string[] {
  return those.flatMap(({ netns, ifname }) => netns.addresses(ifname)).map((address) => address.replace(/\/\d+$/, ""));
}

/** Types what the document shows, where the servers and the node's files are the test's own. @param env of the shell in which step 1 was typed */
async function type(shown: string, env: Readonly<Record<string, string>> = { ETCD_ENDPOINTS: etcd.endpoint }): Promise<string> {
  const { node, datastore } = world;
  const lines = shown
    .replaceAll("--node=NODE", `--node=${node.nodename} --run-dir=${node.folder}`)
    .replace("http://192.0.2.1:2379", etcd.endpoint);
  return await new Reader(node.folder, { KUBECONFIG: datastore.api.kubeconfigFile, ...env }).type(lines);
}

/** Steps 1, 3, 4 and 5. */
const prepare = async (): Promise<string> => await type(DOCUMENT.block("", "> settings.yaml"), {});
const copyEndpoints = async (): Promise<string> => await type(DOCUMENT.block("", "kubectl annotate"));
const adopt = async (): Promise<string> => await type(DOCUMENT.block("", "DATASTORE_TYPE=kubernetes netplugctl ipam adopt"));
const enable = async (): Promise<string> => await type(DOCUMENT.block("", "apply -f settings.yaml"));

async function problems(env: Readonly<Record<string, string>> = world.datastore.env): Promise<readonly Json[]> {
  return (JSON.parse((await runNetplugctl(env, ["ipam", "check", "-o", "json"])).stdout) as { readonly problems: readonly Json[] })
    .problems;
}

async function expectWhole(those: readonly Pod[], config: (more: Json) => Json): Promise<void> {
  for (const { name, containerID, netns, ifname, result } of those) {
    const call = { containerID, netns: netns.path, ifname, args: argsOf(name), config: config({ ...nameOf(ifname), prevResult: result }) };
    const { status, stdout } = await world.node.call("CHECK", call);
    expect([status, stdout]).toEqual([0, ""]);
  }
}

/** Step 4 shows how to look. */
async function expectShownTheSame(): Promise<void> {
  const [checking = "", showing = "", ...more] = DOCUMENT.inlineWith("DATASTORE_TYPE=kubernetes netplugctl");
  expect([await type(checking), more]).toEqual([expect.stringContaining("found 0 problems"), []]);
  const blocksIn = (shown: string): readonly string[] =>
    [...shown.matchAll(/^Block +(\S+) +((?:10\.65\.|fd65:)\S+)/gm)].map(([, name, cidr]) => `${cidr} of ${name}`);
  const [now, then] = [await type(showing), await type(showing.replace("DATASTORE_TYPE=kubernetes ", ""))];
  expect(blocksIn(now)).not.toEqual([]);
  expect(blocksIn(now)).toEqual(blocksIn(then));
}

test("kubectl shows the pod CIDRs of the nodes (needs cluster)", async () => {
  await createNode(world.datastore.api, "node-b", ["10.244.3.0/24"]);
  expect(await type(DOCUMENT.one("kubectl get nodes"))).toMatch(/^node-b +\[?10\.244\.3\.0\/24\]?$/m);
});

/** Each interface is of a network of its own. */
const nameOf = (ifname: string): Json => ({ name: ifname === "eth0" ? "test-net" : "second" });
const isOld = (address: string): boolean => /^(?:10\.65\.|fd65:)/.test(address);
const poolsOf = async (): Promise<Readonly<Record<string, unknown>>> => {
  const { items } = JSON.parse(await world.node.ctl(["get", "ippools", "-o", "json"])) as { items: { metadata: Json; spec: Json }[] };
  return Object.fromEntries(items.map(({ metadata, spec }) => [metadata["name"], spec["disabled"]]));
};

test("pods keep their addresses, new ones get others, none is given twice, and each is released (needs cluster)", async () => {
  const { node, datastore } = world;
  const [early, reborn] = [await add("early", before()), await add("reborn", before())];
  const [current, cached, staying] = [await add("current", before()), await add("cached", before()), await add("staying", before())];
  const second = await add("staying", before(nameOf("net1")), { ifname: "net1", of: staying });
  const old = [current, cached, staying, second];
  const addresses = addressesOf(old);

  await prepare();
  expect(await poolsOf()).toEqual({ blue: true, "blue-6": true, unused: true, moving: false });
  expect(await node.ctl(["ipam", "show", "--show-configuration"])).toMatch(/strictAffinity +true/i);
  expect(await datastore.api.kubectl(["get", "ipreservations", "-o", "name"])).toContain("/gateways");
  await node.createPool("moving-6", { cidr: "fd66::/112" });

  for (const pod of [early, reborn]) await del(pod, after());
  await deletePod(datastore.api, { namespace: "default", name: "early" });
  const fresh = [await add("reborn", after()), await add("fresh", after())];
  expect(addressesOf(fresh).filter((address) => !/^(?:10\.66\.|fd66:)/.test(address))).toEqual([]);
  const copied = await copyEndpoints();
  expect(copied).toContain('pods "early" not found');
  expect(copied).toContain("--overwrite is false");
  const records = await readPodRecords(datastore.api);
  for (const pod of [...old, ...fresh]) {
    const recorded = records.find((one) => one.pod === pod.name && one.ifName === pod.ifname);
    expect([recorded?.containerID, recorded?.addresses]).toEqual([pod.containerID, pod.netns.addresses(pod.ifname)]);
  }
  const unallocated = (await problems()).map((one) => one["object"]);
  expect(unallocated.toSorted()).toEqual(addresses.toSorted());

  expect(await adopt()).toContain("allocated 8 of 12 addresses in use on this host, 4 already were\n");
  expect(await adopt()).toContain("allocated 0 of 12");
  expect(await problems()).toEqual([]);
  await expectWhole([...old, ...fresh], after);
  await expectWhole(old, before);
  await expectShownTheSame();
  await enable();
  expect(await poolsOf()).toEqual({ blue: false, "blue-6": false, unused: true, moving: true, "moving-6": false });
  await node.ctl(["patch", "ippool", "moving-6", "-p", '{"spec":{"disabled":true}}']);

  const more = await Promise.all(["m1", "m2", "m3", "m4"].map(async (name) => await add(name, after())));
  expect(addressesOf(more).every(isOld)).toBe(true);
  const all = addressesOf([...old, ...fresh, ...more]);
  expect([all.length, new Set(all).size, await node.addressesInUse()]).toEqual([20, 20, 20]);
  expect(await problems()).toEqual([]);

  await del(current, after());
  await del(cached, before({ prevResult: cached.result }));
  expect(await node.addressesInUse()).toBe(18);
  await deletePod(datastore.api, { namespace: "default", name: "cached" });
  expect((await problems()).map((one) => one["class"])).toEqual(["leaked-address", "leaked-address"]);
  const releasing = DOCUMENT.block("", "--from-report");
  expect(await type(`${releasing.trim()} || true`)).toContain("less than a minute ago");
  const valid = [staying, ...fresh, ...more].map(({ containerID }) => ({ containerID, ifname: "eth0" }));
  expect((await node.call("GC", { config: after({ "cni.dev/valid-attachments": valid }) })).status).toBe(0);
  expect([await node.addressesInUse(), await problems()]).toEqual([16, []]);
  for (const pod of [second, staying, ...fresh, ...more]) await del(pod, after(nameOf(pod.ifname)));
  expect([await node.addressesInUse(), await problems()]).toEqual([0, []]);
});

test("on the way back no address that is in use is given, and a GC releases what pods had that have ended meanwhile (needs cluster)", async () => {
  const { node } = world;
  const [ended, staying] = [await add("ended", before()), await add("staying", before())];
  await prepare();
  await node.createPool("moving-6", { cidr: "fd66::/112" });
  const fresh = await add("fresh", after());
  await copyEndpoints();
  await adopt();
  await del(ended, after());

  const again = await add("again", before());
  const all = addressesOf([staying, fresh, again]);
  expect([all.length, new Set(all).size]).toEqual([6, 6]);
  await expectWhole([staying, again], before);
  const env = { ETCD_ENDPOINTS: etcd.endpoint };
  const inUse = async (): Promise<number> =>
    (JSON.parse((await runNetplugctl(env, ["ipam", "check", "-o", "json"])).stdout) as { readonly allocations: number }).allocations;
  expect(await inUse()).toBe(6);
  const valid = [staying, fresh, again].map(({ containerID }) => ({ containerID, ifname: "eth0" }));
  expect((await node.call("GC", { config: before({ "cni.dev/valid-attachments": valid }) })).status).toBe(0);
  expect([await inUse(), addressesOf([staying, fresh, again])]).toEqual([4, all]);
  for (const pod of [staying, fresh, again]) await del(pod, before());
  expect([await inUse(), await problems(env)]).toEqual([0, []]);
});

test("a pool that a network config names must be the second range's: one that is disabled is refused (needs cluster)", async () => {
  const { node } = world;
  await prepare();
  const naming = (...pools: readonly string[]): Json => world.node.config({ ipam: { ipv4_pools: pools } });
  using netns = new TestNetns();
  await createPod(world.datastore.api, { name: "early", spec: { nodeName: node.nodename } });
  const containerID = node.newContainerID();
  const refused = await node.call("ADD", { containerID, netns: netns.path, config: naming("blue", "moving"), args: argsOf("early") });
  expect(refused.json).toMatchObject({ code: 100, msg: expect.stringContaining('use pool "blue": it is disabled') });
  const given = await add("late", naming("moving"));
  expect(addressesOf([given])).toEqual([expect.stringMatching(/^10\.66\./)]);
  await del(given, after());
});

test("before a second try pods are recorded as they are by then, and what the first one left is found (needs cluster)", async () => {
  const { datastore } = world;
  const [first, staying] = [await add("renewed", before()), await add("staying", before())];
  const left = addressesOf([first]);
  await prepare();
  await copyEndpoints();
  await adopt();

  await del(first, before());
  const renewed = await add("renewed", before());
  await type(DOCUMENT.block("", "kubectl annotate").replace("kubectl annotate", DOCUMENT.one("kubectl annotate")));
  const records = await readPodRecords(datastore.api);
  for (const pod of [renewed, staying])
    expect(records.find((one) => one.pod === pod.name)?.addresses).toEqual(pod.netns.addresses(pod.ifname));
  const found = (await problems()).filter((one) => one["class"] === "leaked-address").map((one) => one["object"]);
  expect(found.toSorted()).toEqual(left.toSorted());
  for (const address of found) await world.node.ctl(["ipam", "release", `--ip=${String(address)}`]);

  await prepare();
  expect(await adopt()).toContain("allocated 2 of 4 addresses in use on this host, 2 already were\n");
  expect(await problems()).toEqual([]);
  await expectWhole([renewed, staying], after);
  for (const pod of [renewed, staying]) await del(pod, after());
});
