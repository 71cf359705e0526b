/** A node whose addresses `ipam adopt` has given to a node that does not exist, or to another one: the right name gets them back, while pods run. */

import { afterEach, beforeEach, expect, test } from "bun:test";
import { join } from "node:path";
import { readFileSync, rmSync } from "node:fs";
import { type CniJson, distFolder } from "../support/programs/cni.ts";
import type { Json } from "../support/programs/cni-call.ts";
import { runNetplugctl } from "../support/cli/netplugctl.ts";
import { Reader } from "../support/documents/reader.ts";
import { KubernetesNodeDatastore } from "../support/node/kubernetes-node-datastore.ts";
import { TestNetns } from "../support/node/netns.ts";
import { TestNode } from "../support/node/test-node.ts";
import { createNode, createPod, reportAddresses } from "../support/servers/kubernetes.ts";
import { share } from "../support/share.ts";

const node = share(
  () => TestNode.start([]),
  async (node) => {
    const { datastore } = node;
    if (datastore instanceof KubernetesNodeDatastore) await createNode(datastore.api, "node-b", []);
    else
      for (const name of ["node-a", "node-b"])
        await node.apply({ apiVersion: "netplug.io/v3", kind: "Node", metadata: { name }, spec: {} });
    await node.createPool("pod-cidrs", { cidr: "10.244.0.0/16", disabled: true });
    await node.createPool("pods", { cidr: "10.65.0.0/16" });
  },
);

interface Pod {
  readonly containerID: string;
  readonly netns: TestNetns;
  readonly result: CniJson;
}

let pods: DisposableStack;
/** The block of the test's addresses: an empty one stays for minutes. */
let block: string;
let tests = 0;
beforeEach(() => {
  pods = new DisposableStack();
  block = `10.244.${++tests}.0/26`;
});
afterEach(async () => {
  using _pods = pods;
  // of a test that failed
  await node.call("GC", { config: node.config({ "cni.dev/valid-attachments": [] }) });
  rmSync(join(node.folder, "leases"), { recursive: true, force: true });
});

const isOnKubernetes = (): boolean => node.datastore instanceof KubernetesNodeDatastore;

/** Of before the move of docs/moving.md. */
function before(): Json {
  const ranges = [[{ subnet: block }]];
  return { ...node.config(), ipam: { type: "host-local", dataDir: join(node.folder, "leases"), ranges } };
}

async function add(config: Json): Promise<Pod> {
  const [netns, containerID] = [pods.use(new TestNetns()), node.newContainerID()];
  const { datastore, nodename } = node;
  if (datastore instanceof KubernetesNodeDatastore) await createPod(datastore.api, { name: containerID, spec: { nodeName: nodename } });
  const result = await node.add(netns, { containerID, config });
  if (datastore instanceof KubernetesNodeDatastore)
    await reportAddresses(datastore.api, { namespace: "default", name: containerID }, addressesOf([{ netns }]));
  return { containerID, netns, result };
}

const del = async ({ containerID, netns }: Pod, more: Json = {}): Promise<void> =>
  await node.del({ containerID, netns: netns.path, config: node.config(more) });

/** What the kernel says. */
function addressesOf(those: readonly Pick<Pod, "netns">[]): readonly string[] {
  return those.flatMap(({ netns }) => netns.addresses("eth0")).map((address) => address.replace(/\/\d+$/, ""));
}

const adopt = async (name: string): ReturnType<typeof runNetplugctl> =>
  await runNetplugctl(node.datastore.env, ["ipam", "adopt", `--node=${name}`, `--run-dir=${node.folder}`]);

/** Types the command that a message shows. @returns what it printed */
async function type(command: string | undefined): Promise<string> {
  const env = { ...node.datastore.env, PATH: `${distFolder}:${process.env["PATH"] ?? ""}` };
  return await new Reader(node.folder, env).type(command ?? "echo there is none; false");
}

const nextIn = (stderr: string): string | undefined => /^next: (.*)$/m.exec(stderr)?.[1];

async function report(): Promise<{ readonly problems: readonly Json[] }> {
  return JSON.parse((await runNetplugctl(node.datastore.env, ["ipam", "check", "-o", "json"])).stdout) as { problems: readonly Json[] };
}

async function blocks(): Promise<readonly string[]> {
  const shown = JSON.parse(await node.ctl(["ipam", "show", "-o", "json"])) as { blocks: { node: string; cidr: string; inUse: number }[] };
  return shown.blocks.flatMap(({ node, cidr, inUse }) => (cidr === block ? [`${node} ${cidr} ${inUse}`] : []));
}

/** On Kubernetes the plugin finds no blocks but those that the hint names. */
function expectHinted(): void {
  if (!isOnKubernetes()) return;
  const hint = JSON.parse(readFileSync(join(node.folder, "blocks.json"), "utf8")) as { readonly node: string; readonly blocks: object };
  expect([hint.node, Object.keys(hint.blocks)]).toEqual([node.nodename, expect.arrayContaining([block])]);
}

async function expectWhole(those: readonly Pod[]): Promise<void> {
  for (const { containerID, netns, result } of those) {
    const { status, stdout } = await node.call("CHECK", { containerID, netns: netns.path, config: node.config({ prevResult: result }) });
    expect([status, stdout]).toEqual([0, ""]);
  }
}

/** As after a loss of etcd's data: elsewhere they would tell the name. Pods always tell Kubernetes'. */
async function forgetRecords(): Promise<() => Promise<void>> {
  if (isOnKubernetes()) return async () => undefined;
  const records = JSON.parse(await node.ctl(["get", "workloadendpoints", "-A", "-o", "json"])) as { items: { metadata: Json }[] };
  await node.etcd.ctl(["del", "--prefix", "/netplug/v3/workloadendpoints/"]);
  const items = records.items.map(({ metadata: { name, namespace, labels, annotations }, ...rest }) => ({
    ...rest,
    metadata: { name, namespace, labels, annotations },
  }));
  return async () => void (await node.ctl(["create", "-f", "-"], JSON.stringify({ ...records, items })));
}

test("another node's name is refused where this node's pods are recorded, before anything is written, and the right one is proposed", async () => {
  const running = [await add(before()), await add(before())];
  let next: string | undefined;
  for (const name of isOnKubernetes() ? ["node-b"] : ["ghost", "node-b"]) {
    const { status, stdout, stderr } = await adopt(name);
    expect([status, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(new RegExp(`to node "${name}": container "c\\w+", which is on this host, is recorded on node "node-a"`));
    next = nextIn(stderr);
  }
  expect([await blocks(), await node.addressesInUse()]).toEqual([[], 0]);
  expect(await type(next)).toContain("allocated 2 of 2 addresses in use on this host");
  expect(await blocks()).toEqual([`node-a ${block} 2`]);
  for (const pod of running) await del(pod);
  expect(await node.addressesInUse()).toBe(0);
});

test("what a name got that no node has, the right one gets by the command that its refusal shows, and all addresses come back once", async () => {
  const old = [await add(before()), await add(before()), await add(before()), await add(before())];
  const [current, cached, collected] = old as [Pod, Pod, Pod];
  const addresses = addressesOf(old);
  const remember = await forgetRecords();

  const slip = await adopt("ghost");
  expect([slip.status, slip.stdout]).toEqual([0, expect.stringContaining("allocated 4 of 4 addresses")]);
  const told = isOnKubernetes() ? 'and pods of this host are on node "node-a"' : 'but "node-a", "node-b"';
  expect(slip.stderr).toStartWith(
    `warning: the datastore knows no node "ghost", ${told}; if the name is wrong, correct that by netplugctl ipam`,
  );
  expect(await blocks()).toEqual([`ghost ${block} 4`]);

  const second = await adopt("node-a");
  expect([second.status, second.stdout]).toEqual([1, ""]);
  expect(second.stderr).toMatch(/this host got 10\.244\.\d\.\d+ as node "ghost"; if that name is right: /);
  const correction = /; if it was wrong: (.*)$/m.exec(second.stderr)?.[1];
  expect(correction).toBe(`netplugctl ipam adopt --node=node-a --instead-of=ghost --run-dir=${node.folder}`);
  const corrected = await type(correction);
  expect(corrected).toEndWith(
    `block ${block} moved from node "ghost" to node "node-a"\nallocated 4 of 4 addresses in use on this host, 0 already were\n`,
  );
  expect(await blocks()).toEqual([`node-a ${block} 4`]);
  expectHinted();
  expect((await adopt("node-a")).stdout).toBe("allocated 0 of 4 addresses in use on this host, 4 already were\n");
  await remember();
  expect((await report()).problems).toEqual([]);
  await expectWhole(old);
  expect(addressesOf(old)).toEqual(addresses);

  await node.ctl(["patch", "ippool", "pod-cidrs", "-p", '{"spec":{"disabled":false}}']);
  await node.ctl(["patch", "ippool", "pods", "-p", '{"spec":{"disabled":true}}']);
  const fresh = [await add(node.config()), await add(node.config())];
  const all = addressesOf([...old, ...fresh]);
  expect([all.length, new Set(all).size, await node.addressesInUse()]).toEqual([6, 6, 6]);
  await del(current);
  await del(cached, { prevResult: cached.result });
  expect(await node.addressesInUse()).toBe(4);
  const valid = [...old, ...fresh].filter((pod) => pod !== collected).map(({ containerID }) => ({ containerID, ifname: "eth0" }));
  expect((await node.call("GC", { config: node.config({ "cni.dev/valid-attachments": valid }) })).status).toBe(0);
  expect(await node.addressesInUse()).toBe(3);
  for (const pod of [...old.slice(3), ...fresh]) await del(pod);
  expect([await node.addressesInUse(), (await report()).problems]).toEqual([0, []]);
});

test("a check finds what another node's name got, of which that node's GC knows no container, and its advice moves it", async () => {
  const running = await add(before());
  const [ip = ""] = addressesOf([running]);
  const remember = await forgetRecords();
  const { datastore } = node;
  const records = { namespace: "default", name: running.containerID };
  // A pod that shows no record tells nothing, as before step 3 of the move from etcd.
  const kubectl = async (...words: readonly string[]): Promise<void> => {
    if (datastore instanceof KubernetesNodeDatastore)
      await datastore.api.kubectl(["annotate", "pod", records.name, "--namespace", records.namespace, ...words]);
  };
  const annotation = `cni.netplug.io/containerID`;
  await kubectl(`${annotation}-`);
  expect((await adopt("node-b")).status).toBe(0);
  await kubectl(`${annotation}=${running.containerID}`);
  await remember();
  const { problems } = await report();
  expect(problems).toEqual([
    {
      class: "misnamed-node",
      object: ip,
      detail: expect.stringMatching(/, allocated to it on node "node-b", but recorded on node "node-a"$/),
    },
  ]);
  const { stderr } = await runNetplugctl(datastore.env, ["ipam", "check"]);
  const advice = nextIn(stderr)?.replace(/^.*: (?=netplugctl)/, "");
  const typed = advice?.replace("--node=NODE", "--node=node-a").replace("OTHER-NODE", `node-b --run-dir=${node.folder}`);
  expect(await type(typed)).toContain("allocated 1 of 1 addresses");
  expect((await report()).problems).toEqual([]);
  await del(running);
  expect(await node.addressesInUse()).toBe(0);
});
