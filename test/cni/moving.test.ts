/** What docs/moving.md shows of a move from `host-local` to `netplug-ipam`, typed as it stands, while pods run. */

import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type CniJson, distFolder } from "../support/programs/cni.ts";
import type { Json } from "../support/programs/cni-call.ts";
import { ShownDocument } from "../support/documents/document.ts";
import { Reader } from "../support/documents/reader.ts";
import { KubernetesNodeDatastore } from "../support/node/kubernetes-node-datastore.ts";
import { TestNetns } from "../support/node/netns.ts";
import { TestNode } from "../support/node/test-node.ts";
import { runNetplugctl } from "../support/cli/netplugctl.ts";
import { createPod, reportAddresses } from "../support/servers/kubernetes.ts";
import { share } from "../support/share.ts";

const DOCUMENT = new ShownDocument("docs/moving.md");
const SHOWN_IPAM = JSON.parse(`{ ${DOCUMENT.one('"ipam":')} }`) as { readonly ipam: Json };

const node = share(() => TestNode.start([]));

interface Pod {
  readonly containerID: string;
  readonly netns: TestNetns;
  readonly result: CniJson;
}

let pods: DisposableStack;
beforeEach(() => void (pods = new DisposableStack()));
afterEach(async () => {
  using _pods = pods;
  // of a test that failed
  await node.call("GC", { config: before({ "cni.dev/valid-attachments": [] }) });
  const { items } = JSON.parse(await node.ctl(["get", "ippools", "-o", "json"])) as { readonly items: readonly { metadata: Json }[] };
  for (const { metadata } of items) await node.ctl(["delete", "ippool", String(metadata["name"])]);
  rmSync(leaseFolder(), { recursive: true, force: true });
});

const leaseFolder = (): string => join(node.folder, "leases", "test-net");
const leases = (): readonly string[] => readdirSync(leaseFolder()).filter((name) => !/lock|last_/.test(name));

/** Of before the move. */
function before(more: Json = {}): Json {
  const ranges = [[{ subnet: "10.244.3.0/24" }], [{ subnet: "fd44:3::/64" }]];
  return { ...node.config(more), ipam: { type: "host-local", dataDir: join(node.folder, "leases"), ranges } };
}

/** Of after it, as the document shows it for both families. */
const after = (more: Json = {}): Json => ({ ...node.config(more), ipam: { ...SHOWN_IPAM.ipam, assign_ipv6: "true" } });

async function add(config: Json): Promise<Pod> {
  const [netns, containerID] = [pods.use(new TestNetns()), node.newContainerID()];
  const { datastore, nodename } = node;
  const isOnKubernetes = datastore instanceof KubernetesNodeDatastore;
  if (isOnKubernetes) await createPod(datastore.api, { name: containerID, spec: { nodeName: nodename } });
  const result = await node.add(netns, { containerID, config });
  if (isOnKubernetes) await reportAddresses(datastore.api, { namespace: "default", name: containerID }, addressesOf([{ netns }]));
  return { containerID, netns, result };
}

const del = async ({ containerID, netns }: Pod, config: Json): Promise<void> => await node.del({ containerID, netns: netns.path, config });

/** What the kernel says. */
function addressesOf(those: readonly Pick<Pod, "netns">[]): readonly string[] {
  return those.flatMap(({ netns }) => netns.addresses("eth0")).map((address) => address.replace(/\/\d+$/, ""));
}

/** Types what the document shows, where the node's files are the test's own. */
async function type(shown: string): Promise<string> {
  const bin = join(node.folder, "bin");
  const lines = shown
    .replaceAll("--node=NODE", `--node=${node.nodename} --run-dir=${node.folder}`)
    .replaceAll("/var/lib/cni/networks/k8s-pod-network", leaseFolder());
  if (lines.includes("/var/")) throw new Error(`${lines}: of the machine`);
  const env = { ...node.datastore.env, PATH: `${bin}:${distFolder}:${process.env["PATH"] ?? ""}` };
  return await new Reader(node.folder, env).type(lines);
}

async function makePools(): Promise<void> {
  await type(DOCUMENT.block("", "name: pod-cidrs"));
  await node.createPool("pod-cidrs-6", { cidr: "fd44::/16", disabled: true });
  await node.createPool("pods-6", { cidr: "fd65::/64" });
}

async function problems(): Promise<readonly { readonly class: string; readonly object: string }[]> {
  const { stdout } = await runNetplugctl(node.datastore.env, ["ipam", "check", "-o", "json"]);
  return (JSON.parse(stdout) as { readonly problems: readonly { readonly class: string; readonly object: string }[] }).problems;
}

async function expectWhole(those: readonly Pod[], config: (more: Json) => Json): Promise<void> {
  for (const { containerID, netns, result } of those) {
    const { status, stdout } = await node.call("CHECK", { containerID, netns: netns.path, config: config({ prevResult: result }) });
    expect([status, stdout]).toEqual([0, ""]);
  }
}

const adopt = async (): Promise<string> => await type(DOCUMENT.block("", "netplugctl ipam adopt").replace(/^DATASTORE_TYPE.*$/m, ""));
const isOld = (address: string): boolean => /^(?:10\.244\.3\.|fd44:3:)/.test(address);

test("pods keep their addresses, new ones get others, none is given twice, and each is released whichever config DEL has", async () => {
  const [early, current, cached, staying] = [await add(before()), await add(before()), await add(before()), await add(before())];
  const old = [current, cached, staying];
  const addresses = addressesOf(old);
  await makePools();
  const named = (await problems()).filter((one) => one.class === "unallocated-in-use").map(({ object }) => object);
  expect(named).toEqual(expect.arrayContaining([...addresses]));

  await del(early, after());
  const fresh = await add(after());
  expect(addressesOf([fresh])).toEqual([expect.stringMatching(/^10\.65\./), expect.stringMatching(/^fd65:/)]);
  const adopted = await adopt();
  for (const address of addresses) expect(adopted).toContain(`${address} allocated to container`);
  expect(adopted).toContain("allocated 6 of 8 addresses in use on this host, 2 already were\n");
  expect(await adopt()).toContain("allocated 0 of 8");
  expect(await problems()).toEqual([]);
  await expectWhole([...old, fresh], after);
  await expectWhole(old, before);
  const valid = [...old, fresh].map(({ containerID }) => ({ containerID, ifname: "eth0" }));
  expect((await node.call("GC", { config: after({ "cni.dev/valid-attachments": valid }) })).status).toBe(0);
  expect([addressesOf(old), await node.addressesInUse()]).toEqual([addresses, 8]);

  const released = addressesOf([cached]);
  await del(current, after());
  await del(cached, before({ prevResult: cached.result }));
  expect(await node.addressesInUse()).toBe(4);
  // those of containerd's DELs are left behind
  expect([leases().length, leases().filter((one) => released.includes(one))]).toEqual([6, []]);
  await type(DOCUMENT.one("netplugctl patch ippool pod-cidrs"));
  await node.ctl(["patch", "ippool", "pod-cidrs-6", "-p", '{"spec":{"disabled":false}}']);
  const more = [await add(after()), await add(after()), await add(after()), await add(after())];
  expect(addressesOf(more).some(isOld)).toBe(true);
  const all = addressesOf([staying, fresh, ...more]);
  expect([all.length, new Set(all).size, await node.addressesInUse()]).toEqual([12, 12, 12]);
  expect(await problems()).toEqual([]);
  await del(staying, after({ prevResult: staying.result }));
  for (const pod of [fresh, ...more]) await del(pod, after());
  expect([await node.addressesInUse(), await problems()]).toEqual([0, []]);
  await type(DOCUMENT.one("rm -r"));
  expect(readdirSync(join(node.folder, "leases"))).toEqual([]);
});

test("on the way back leases go whose containers are gone, host-local gives no address that is in use, and all are released", async () => {
  const [ended, staying] = [await add(before()), await add(before())];
  await makePools();
  const fresh = await add(after());
  await adopt();
  await del(ended, after());
  expect(leases()).toHaveLength(4);
  mkdirSync(join(node.folder, "bin"), { recursive: true });
  const listed = [staying, fresh].map(({ containerID }) => `echo ${containerID}`);
  writeFileSync(join(node.folder, "bin/crictl"), `#!/bin/sh\n${listed.join("\n")}\n`, { mode: 0o755 });
  await type(DOCUMENT.block("", "crictl pods"));
  expect(leases().toSorted()).toEqual(addressesOf([staying]).toSorted());

  const again = await add(before());
  expect(addressesOf([again]).every(isOld)).toBe(true);
  const all = addressesOf([staying, fresh, again]);
  expect(new Set(all).size).toBe(6);
  await expectWhole([staying, again], before);
  for (const pod of [staying, fresh, again]) await del(pod, before({ prevResult: pod.result }));
  expect([leases(), await node.addressesInUse(), await problems()]).toEqual([[], 0, []]);
  await type(DOCUMENT.one("netplugctl delete ippool"));
});

test("without a second range new pods wait, on a node that stays Ready, until the old one gives addresses", async () => {
  const old = await add(before());
  await makePools();
  for (const name of ["pods", "pods-6"]) await node.ctl(["delete", "ippool", name]);
  expect((await node.call("STATUS", { config: after() })).status).toBe(0);
  const waiting = { containerID: node.newContainerID(), netns: pods.use(new TestNetns()).path, config: after() };
  const [, message = "there is none"] = /New pods then wait until .*: `(.*)`/.exec(DOCUMENT.text) ?? [];
  expect((await node.call("ADD", waiting)).json?.msg).toContain(message);
  await adopt();
  await type(DOCUMENT.one("netplugctl patch ippool pod-cidrs"));
  await node.ctl(["patch", "ippool", "pod-cidrs-6", "-p", '{"spec":{"disabled":false}}']);
  expect((await node.call("ADD", waiting)).json?.ips).toHaveLength(2);
  expect(await problems()).toEqual([]);
  await node.del(waiting);
  await del(old, after());
  expect(await node.addressesInUse()).toBe(0);
});
