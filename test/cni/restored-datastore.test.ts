/** A datastore that was restored from a backup which is older than the pods that run: `netplugctl ipam adopt` tells it of their addresses. */

import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { distFolder } from "../support/programs/cni.ts";
import type { Json } from "../support/programs/cni-call.ts";
import { ShownDocument } from "../support/documents/document.ts";
import { KubernetesNodeDatastore } from "../support/node/kubernetes-node-datastore.ts";
import { nodePlace, TestNetns } from "../support/node/netns.ts";
import { runNetplugctl } from "../support/cli/netplugctl.ts";
import { Reader } from "../support/documents/reader.ts";
import { createPod } from "../support/servers/kubernetes.ts";
import { share } from "../support/share.ts";
import { TestNode } from "../support/node/test-node.ts";

const DOCUMENT = new ShownDocument("docs/troubleshooting.md");

const node = share(
  () => TestNode.start([]),
  async (node) => {
    await node.createPool("v4", { cidr: "10.65.0.0/24", blockSize: 30 });
    await node.createPool("v6", { cidr: "fd00:65::/112", blockSize: 126 });
  },
);

interface Pod {
  readonly containerID: string;
  readonly addresses: readonly string[];
  del(): Promise<void>;
}

let pods: DisposableStack;
beforeEach(() => void (pods = new DisposableStack()));
afterEach(async () => {
  using _pods = pods;
  expect((await node.call("GC", { config: node.config({ "cni.dev/valid-attachments": [] }) })).status).toBe(0);
  expect(await node.addressesInUse()).toBe(0);
});

async function attach(config = node.config({ ipam: { assign_ipv6: "true" } })): Promise<Pod> {
  const netns = pods.use(new TestNetns());
  const containerID = node.newContainerID();
  const { datastore, nodename } = node;
  if (datastore instanceof KubernetesNodeDatastore) await createPod(datastore.api, { name: containerID, spec: { nodeName: nodename } });
  const { ips = [] } = await node.add(netns, { containerID, config });
  return {
    containerID,
    addresses: ips.map(({ address }) => address.replace(/\/\d+$/, "")),
    del: async () => await node.del({ containerID, netns: netns.path }),
  };
}

/** As a backup has it of before the first pod. */
async function forgetBlocks(): Promise<void> {
  if (node.datastore instanceof KubernetesNodeDatastore) await node.datastore.api.kubectl(["delete", "ipamblocks.netplug.io", "--all"]);
  else await node.etcd.ctl(["del", "--prefix", "/netplug/ipam/"]);
}

/** The folder of the node's lock file is the test's own. */
const adopt = async (): ReturnType<typeof runNetplugctl> => {
  const words = DOCUMENT.one("netplugctl ipam adopt").replace("NODE", node.nodename).split(" ").slice(1);
  return await runNetplugctl(node.datastore.env, [...words, `--run-dir=${node.folder}`]);
};

const hintFile = (): string => join(node.folder, "blocks.json");
const readHint = (): { readonly blocks: object } => JSON.parse(readFileSync(hintFile(), "utf8"));

/** The node's hint as it is where the backup has blocks that the node had no longer. */
function forgetHint(): void {
  if (existsSync(hintFile())) writeFileSync(hintFile(), JSON.stringify({ ...readHint(), blocks: {} }));
}

/** On Kubernetes the plugin finds no blocks but those that the hint names. */
async function expectHinted(): Promise<void> {
  const { datastore } = node;
  if (!(datastore instanceof KubernetesNodeDatastore)) return;
  const names = await datastore.api.kubectl(["get", "ipamblocks.netplug.io", "-o", "jsonpath={.items[*].spec.cidr}"]);
  expect(Object.keys(readHint().blocks).sort()).toEqual(names.split(" ").sort());
}

/** Calls GC as the document shows it for containerd. @param crictl what is run in its place */
async function typeGc(crictl: string): Promise<number> {
  const bin = join(node.folder, "bin");
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, "crictl"), `#!/bin/sh\n${crictl}\n`, { mode: 0o755 });
  const [, shownConfig = "there is none"] = /^(\{ .*,)$/m.exec(DOCUMENT.block("", "crictl pods")) ?? [];
  const lines = DOCUMENT.block("", "crictl pods")
    .replaceAll("/opt/cni/bin", distFolder)
    .replace(shownConfig, () => `${JSON.stringify(node.config()).slice(0, -1)},`);
  const reader = new Reader(node.folder, { ...node.datastore.env, PATH: `${bin}:${process.env["PATH"] ?? ""}` });
  return (await reader.try(lines)).status;
}

/** Does what the document shows. */
async function type(part: string): Promise<void> {
  const command = DOCUMENT.inline().find((code) => code.startsWith("netplugctl ") && code.includes(part)) ?? `echo ${part}; false`;
  await new Reader(node.folder, node.datastore.env).type(command);
}

test("the addresses of pods that run are allocated again, while the datastore is locked, and end with their pods", async () => {
  const first = await attach();
  const before = [first, await attach()];
  await type('"datastoreReady":false');
  await forgetBlocks();
  forgetHint();
  const { status, stdout, stderr } = await adopt();
  await expectHinted();
  expect([status, stdout.trimEnd().split("\n").at(-1)]).toEqual([0, "allocated 4 of 4 addresses in use on this host, 0 already were"]);
  for (const { containerID, addresses } of before)
    for (const address of addresses) expect(stdout).toContain(`${address} allocated to container "${containerID}" (interface "eth0"`);
  expect(stderr).toBe("");
  const { containerID } = first;
  const shown = JSON.parse(await node.ctl(["ipam", "show", `--ip=${first.addresses[0]}`, "-o", "json"])) as Json;
  const pod = node.datastore.podOf(containerID);
  expect(shown).toMatchObject({ containerID, ifName: "eth0", network: "test-net", node: "node-a", ...pod });
  // the records of the pods are left
  expect(JSON.parse(await node.ctl(["ipam", "check", "-o", "json"]))).toMatchObject({ problems: [] });
  forgetHint();
  expect((await adopt()).stdout).toBe("allocated 0 of 4 addresses in use on this host, 4 already were\n");
  await type('"datastoreReady":true');

  const after = [await attach(), await attach(), await attach()];
  const all = [...before, ...after].flatMap(({ addresses }) => addresses);
  expect([all.length, new Set(all).size]).toEqual([10, 10]);
  for (const pod of before) await pod.del();
  expect(await node.addressesInUse()).toBe(6);
});

test("an address that cannot be its user's is named, with the reason, and the others are allocated", async () => {
  const [first, second] = [await attach(node.config()), await attach(node.config())];
  const [taken = ""] = first.addresses;
  await forgetBlocks();
  rmSync(join(node.folder, "blocks.json"), { force: true });
  const thief = { containerID: node.newContainerID(), plugin: "netplug-ipam", netns: pods.use(new TestNetns()).path, args: `IP=${taken}` };
  expect((await node.call("ADD", thief)).status).toBe(0);
  nodePlace.must(["ip", "route", "add", "192.0.2.1/32", "dev", node.hostSide(second.containerID), "proto", "110"]);
  const { status, stdout } = await adopt();
  expect(status).toBe(1);
  const lines = stdout.trimEnd().split("\n").toSorted();
  expect(lines).toHaveLength(4);
  expect(lines).toContainEqual(
    expect.stringMatching(
      new RegExp(`^${taken} is in use by container "${first.containerID}" .*, but allocated to container "${thief.containerID}"`),
    ),
  );
  expect(lines).toContainEqual(expect.stringMatching(/^192\.0\.2\.1 is in use by container ".*, but lies in no pool$/));
  expect(lines).toContainEqual(expect.stringContaining(`${second.addresses[0]} allocated to container "${second.containerID}"`));
  expect(lines).toContain("allocated 1 of 3 addresses in use on this host, 0 already were; 2 cannot be: recreate their workloads");
  await node.del(thief);
});

test("a GC with the list of the runtime releases what pods have that ended after the backup was made, while the datastore is locked", async () => {
  const [first, second, ended] = [await attach(), await attach(), await attach()];
  nodePlace.must(["ip", "link", "del", node.hostSide(ended.containerID)]);
  await type('"datastoreReady":false');
  for (const crictl of ["exit 1", "true", "echo a; exit 1"]) {
    expect(await typeGc(crictl)).not.toBe(0);
    expect(await node.addressesInUse()).toBe(6);
  }
  expect(await typeGc(`echo ${first.containerID}; echo ${second.containerID}`)).toBe(0);
  expect(await node.addressesInUse()).toBe(4);
  for (const { containerID } of [first, second]) expect(nodePlace.link(node.hostSide(containerID))).toBeDefined();
  await type('"datastoreReady":true');
});

test("that GC comes before pods may start: the runtime does not list a pod yet that has just got its network", () => {
  const [call, unlock] = [DOCUMENT.text.indexOf("#a-gc-for-containerd"), DOCUMENT.text.lastIndexOf('"datastoreReady":true')];
  expect(call).toBeGreaterThan(0);
  expect(call).toBeLessThan(unlock);
});
