/** A node one of whose blocks has a record that cannot be read: nothing in it is touched, and all else goes on. */

import { afterEach, beforeEach, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { CniJson } from "../support/programs/cni.ts";
import { runNetplugctl } from "../support/cli/netplugctl.ts";
import { KubernetesNodeDatastore } from "../support/node/kubernetes-node-datastore.ts";
import { nodePlace, TestNetns } from "../support/node/netns.ts";
import { isOnEtcd, onEtcd } from "../support/node/node-datastore.ts";
import { share } from "../support/share.ts";
import { TestNode } from "../support/node/test-node.ts";

interface Attached {
  readonly containerID: string;
  readonly pod: TestNetns;
  readonly result: CniJson;
  readonly address: string;
}

let pods: DisposableStack;
let inDamaged: Attached;
let elsewhere: Attached;
let block: string;
let repair: () => Promise<void>;
/** Addresses in blocks that can be read. */
let inUse: number;

const node = share(
  () => TestNode.start([]),
  (node) => node.createPool("pairs", { cidr: "10.65.0.0/24", blockSize: 31 }),
);

/** Three attachments in blocks of two addresses; the block of one is damaged. */
beforeEach(async () => {
  pods = new DisposableStack();
  const [first, second, third] = [await attach(), await attach(), await attach()];
  inDamaged = first;
  block = blockOf(first);
  elsewhere = blockOf(second) === block ? third : second;
  repair = await damage(block);
  inUse = await node.addressesInUse();
});
afterEach(async () => {
  using _pods = pods;
  await repair();
  expect((await node.call("GC", { config: node.config({ "cni.dev/valid-attachments": [] }) })).status).toBe(0);
  expect(await node.addressesInUse()).toBe(0);
});

async function attach(): Promise<Attached> {
  const pod = pods.use(new TestNetns());
  const containerID = node.newContainerID();
  const result = await node.add(pod, { containerID });
  return { containerID, pod, result, address: result.ips?.[0]?.address.replace("/32", "") ?? "" };
}

const toBlock = (address: string): string => `${address.replace(/\d+$/, (last) => String(Number(last) & ~1))}/31`;
const blockOf = ({ address }: Attached): string => toBlock(address);

const toCall = ({ containerID, pod }: Attached): { readonly containerID: string; readonly netns: string } => ({
  containerID,
  netns: pod.path,
});

/** @returns repairs it */
async function damage(cidr: string): Promise<() => Promise<void>> {
  const { datastore } = node;
  if (datastore instanceof KubernetesNodeDatastore) {
    const { items } = JSON.parse(await datastore.api.kubectl(["get", "ipamblocks", "-o", "json"])) as {
      readonly items: readonly { readonly metadata: { readonly name: string }; readonly spec: Record<string, unknown> }[];
    };
    const found = items.find(({ spec }) => spec["cidr"] === cidr);
    const write = async (allocations: unknown): Promise<void> => {
      const patch = JSON.stringify({ spec: { allocations } });
      await datastore.api.kubectl(["patch", "ipamblock", found?.metadata.name ?? "", "--type=merge", "-p", patch]);
    };
    await write("{");
    return () => write(found?.spec["allocations"]);
  }
  const keys = (await node.keys()).filter((key) => key.includes("/blocks/"));
  for (const key of keys) {
    const value = (await node.etcd.ctl(["get", key, "--print-value-only"])).trim();
    if (!value.includes(`"${cidr}"`)) continue;
    await node.etcd.ctl(["put", key, "{"]);
    return async () => void (await node.etcd.ctl(["put", key, value]));
  }
  throw new Error(`no block ${cidr}`);
}

const damaged = (): object => ({ code: 5, msg: expect.stringContaining(`read block "${block}" of node "node-a": `) });

test("gives addresses of other blocks, and the log names the damaged one", async () => {
  const given = [await attach(), await attach(), await attach()].map(({ address }) => address);
  expect(new Set([...given, inDamaged.address, elsewhere.address]).size).toBe(5);
  const warning = { level: "WARNING", msg: `block "${block}" is left out`, reason: expect.stringContaining("netplugctl ipam check") };
  expect(node.logLines().filter(({ msg }) => msg === warning.msg)).toEqual(Array(3).fill(expect.objectContaining(warning)));
});

test("netplugctl ipam explain says which, and names the damaged one, too", async () => {
  const { status, stdout, stderr } = await runNetplugctl(node.datastore.env, ["ipam", "explain", "--node=node-a", "-o", "json"]);
  expect([status, stderr]).toEqual([0, expect.stringContaining(`warning: block "${block}" is left out: `)]);
  expect(JSON.parse(stdout)).toMatchObject({ addresses: [{ ip: (await attach()).address }] });
});

test("gives none that is in use on the node, though nobody has it allocated", async () => {
  await node.createPool("four", { cidr: "10.67.0.0/30", blockSize: 31 });
  for (const last of [0, 1, 2]) {
    const route = [`10.67.0.${last}/32`, "dev", "lo"];
    nodePlace.must(["ip", "route", "add", ...route]);
    pods.defer(() => void nodePlace.must(["ip", "route", "del", ...route]));
  }
  const pod = pods.use(new TestNetns());
  const given = await node.add(pod, { containerID: node.newContainerID(), config: node.config({ ipam: { ipv4_pools: ["four"] } }) });
  expect(given.ips).toMatchObject([{ address: "10.67.0.3/32" }]);
});

test("is left out, too, by a node that borrows because its own last address is in use", async () => {
  await repair();
  await node.createPool("four-blocks", { cidr: "10.68.0.0/29", blockSize: 31 });
  await using made = new AsyncDisposableStack();
  const give = async (nodename: string): Promise<string> => {
    const call = { containerID: node.newContainerID(), config: node.config({ nodename, ipam: { ipv4_pools: ["four-blocks"] } }) };
    made.defer(() => node.del(call));
    return (await node.add(pods.use(new TestNetns()), call)).ips?.[0]?.address.replace("/32", "") ?? "";
  };
  const given: string[] = [];
  for (const each of ["node-a", "node-b", "node-c", "node-d"]) given.push(await give(each));
  const [ownSpare, inDamagedSpare, ...spares] = given.map((address) => address.replace(/\d$/, (last) => String(Number(last) ^ 1)));
  const route = [`${ownSpare}/32`, "dev", "lo"];
  nodePlace.must(["ip", "route", "add", ...route]);
  pods.defer(() => void nodePlace.must(["ip", "route", "del", ...route]));
  const repairOther = await damage(toBlock(inDamagedSpare ?? ""));
  made.defer(repairOther);
  expect(spares).toContain(await give("node-a"));
});

test("keeps the addresses of those in other blocks when an ADD is repeated", async () => {
  expect(await node.add(elsewhere.pod, toCall(elsewhere))).toEqual(elsewhere.result);
});

test.each<[what: string, lose: () => unknown]>([
  ["whose interface stands", () => undefined],
  ["whose interface is gone", () => inDamaged.pod.must(["ip", "link", "del", "eth0"])],
])("gives no second address to one in the damaged block %s", async (_what, lose) => {
  lose();
  const links = inDamaged.pod.links().map(({ ifindex }) => ifindex);
  const records = await node.endpoints();
  expect((await node.call("ADD", toCall(inDamaged))).json).toMatchObject(damaged());
  expect(inDamaged.pod.links().map(({ ifindex }) => ifindex)).toEqual(links);
  expect([await node.addressesInUse(), await node.endpoints()]).toEqual([inUse, records]);
});

test("does not give an address of the damaged block that is asked for", async () => {
  const pod = pods.use(new TestNetns());
  const call = { containerID: node.newContainerID(), netns: pod.path, args: `IP=${inDamaged.address}` };
  expect((await node.call("ADD", call)).json).toMatchObject(damaged());
  expect([pod.link("eth0"), await node.addressesInUse()]).toEqual([undefined, inUse]);
});

test("where no other block has an address left, says so, and that the damaged one was left out", async () => {
  const pool = { cidr: "10.66.0.0/31", blockSize: 31 };
  await node.createPool("tiny", pool);
  const config = node.config({ ipam: { ipv4_pools: ["tiny"] } });
  const call = () => ({ containerID: node.newContainerID(), netns: pods.use(new TestNetns()).path, config });
  expect((await node.call("ADD", call())).status).toBe(0);
  const repairTiny = await damage(pool.cidr);
  try {
    const advice = expect.stringContaining(`read block "${pool.cidr}" of node "node-a": `);
    expect((await node.call("ADD", call())).json).toMatchObject({ code: 101, details: advice });
  } finally {
    await repairTiny();
  }
});

test("DEL releases what lies in other blocks", async () => {
  await node.del(toCall(elsewhere));
  expect([elsewhere.pod.link("eth0"), await node.addressesInUse()]).toEqual([undefined, inUse - 1]);
  expect(await node.endpoints()).toHaveLength(2);
  if (isOnEtcd) await node.del(toCall(elsewhere));
});

test("DEL takes the interface of one in the damaged block away, and fails until the block is repaired", async () => {
  for (let times = 0; times < 2; times++) {
    expect((await node.call("DEL", toCall(inDamaged))).json).toMatchObject(damaged());
    expect([inDamaged.pod.link("eth0"), (await node.endpoints()).length]).toEqual([undefined, 3]);
  }
  await repair();
  expect(await node.addressesInUse()).toBe(3);
  await node.del(toCall(inDamaged));
  expect([await node.addressesInUse(), (await node.endpoints()).length]).toEqual([2, 2]);
});

test("what a DEL could not release is released by the next one after the repair, also if an ADD was refused between", async () => {
  expect((await node.call("DEL", toCall(inDamaged))).json).toMatchObject(damaged());
  expect((await node.call("ADD", toCall(inDamaged))).json).toMatchObject(damaged());
  expect((await node.call("DEL", toCall(inDamaged))).json).toMatchObject(damaged());
  await repair();
  await node.del(toCall(elsewhere));
  expect([await node.addressesInUse(), (await node.endpoints()).length]).toEqual([1, 1]);
});

onEtcd(() => {
  test("goes on although something else stands in the place of a pool, too", async () => {
    await node.etcd.ctl(["put", "/netplug/v3/ippools/other", "{"]);
    try {
      expect((await attach()).address).not.toBe("");
      await node.del(toCall(elsewhere));
      const config = node.config({ ipam: { type: "netplug-ipam", ipv4_pools: ["other"] } });
      const named = { containerID: node.newContainerID(), netns: pods.use(new TestNetns()).path, config };
      expect((await node.call("ADD", named)).json).toMatchObject({ code: 100 });
    } finally {
      await node.etcd.ctl(["del", "/netplug/v3/ippools/other"]);
    }
  });

  test("DEL leaves it to a later one to look for an address that an ADD was given, which died before it recorded anything", async () => {
    const key = (await node.keys()).find((one) => one.includes("/workloadendpoints/") && one.includes(inDamaged.containerID)) ?? "";
    expect((await node.etcd.ctl(["del", key])).trim()).toBe("1");
    await node.del(toCall(inDamaged));
    await repair();
    expect(await node.addressesInUse()).toBe(3);
    await node.del(toCall(elsewhere));
    expect([await node.addressesInUse(), readdirSync(join(node.folder, "unreleased"))]).toEqual([1, []]);
  });

  test("DEL leaves it to a later one to release what an earlier one could not reach", async () => {
    const away = node.config({ etcd_endpoints: "http://127.0.0.1:1" });
    expect((await node.call("DEL", { ...toCall(inDamaged), config: away })).json).toMatchObject({ code: 11 });
    const notes = readdirSync(join(node.folder, "unreleased"));
    expect(notes).toEqual([expect.stringContaining(inDamaged.containerID)]);
    await node.del(toCall(elsewhere));
    expect(readdirSync(join(node.folder, "unreleased"))).toEqual(notes);
    await repair();
    await node.del(toCall(elsewhere));
    expect([readdirSync(join(node.folder, "unreleased")), await node.addressesInUse()]).toEqual([[], 1]);
  });
});

test("CHECK looks at those in other blocks, and tells of the damaged one for those in it", async () => {
  const check = (one: Attached): ReturnType<TestNode["call"]> =>
    node.call("CHECK", { ...toCall(one), config: node.config({ prevResult: one.result }) });
  expect((await check(elsewhere)).stdout).toBe("");
  elsewhere.pod.must(["ip", "route", "del", "default"]);
  expect((await check(elsewhere)).json).toMatchObject({ code: 113, msg: expect.stringContaining('route "0.0.0.0/0"') });
  expect((await check(inDamaged)).json).toMatchObject(damaged());
});

test("GC releases what lies in other blocks, and tells of the damaged one", async () => {
  const kept = { containerID: inDamaged.containerID, ifname: "eth0" };
  const { json } = await node.call("GC", { config: node.config({ "cni.dev/valid-attachments": [kept] }) });
  expect(json).toMatchObject(damaged());
  expect([elsewhere.pod.link("eth0"), inDamaged.pod.link("eth0")?.ifname]).toEqual([undefined, "eth0"]);
  expect(await node.addressesInUse()).toBe(0);
  await repair();
  expect((await node.call("GC", { config: node.config({ "cni.dev/valid-attachments": [kept] }) })).status).toBe(0);
  expect(await node.addressesInUse()).toBe(1);
});

test("under another main plugin ADD and DEL go on, too", async () => {
  const call = { plugin: "netplug-ipam", containerID: node.newContainerID(), netns: "/run/netns/any" };
  const { json } = await node.call("ADD", call);
  expect(json?.ips).toHaveLength(1);
  expect(await node.addressesInUse()).toBe(inUse + 1);
  expect((await node.call("DEL", call)).status).toBe(0);
  expect(await node.addressesInUse()).toBe(inUse);
});

test("`ipam adopt` does not mind where no address in use lies in it", async () => {
  const kept = { containerID: elsewhere.containerID, ifname: "eth0" };
  expect((await node.call("GC", { config: node.config({ "cni.dev/valid-attachments": [kept] }) })).json).toMatchObject(damaged());
  const argv = ["ipam", "adopt", `--node=${node.nodename}`, `--run-dir=${node.folder}`];
  expect(await runNetplugctl(node.datastore.env, argv)).toMatchObject({
    status: 0,
    stdout: "allocated 0 of 1 addresses in use on this host, 1 already were\n",
    stderr: "",
  });
});
