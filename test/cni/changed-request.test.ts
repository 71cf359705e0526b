/** An ADD that is repeated after what it asks for has changed: a running pod keeps what it has. */

import { afterEach, expect, test } from "bun:test";
import type { Json } from "../support/programs/cni-call.ts";
import { KubernetesNodeDatastore } from "../support/node/kubernetes-node-datastore.ts";
import { nodePlace, TestNetns } from "../support/node/netns.ts";
import { isOnEtcd } from "../support/node/node-datastore.ts";
import { share } from "../support/share.ts";
import { TestNode } from "../support/node/test-node.ts";

const node = share(
  () => TestNode.start([]),
  async (node) => {
    await node.createPool("first", { cidr: "10.65.0.0/24" });
    await node.createPool("other", { cidr: "10.66.0.0/24", assignmentMode: "Manual" });
    await node.createPool("six", { cidr: "fd65::/112", blockSize: 122 });
  },
);

const begun: string[] = [];
function newContainerID(): string {
  const containerID = node.newContainerID();
  begun.push(containerID);
  return containerID;
}
/** Also where a test failed: the others count what there is. */
afterEach(async () => {
  for (const containerID of begun.splice(0)) await node.del({ containerID });
});

/** What somebody does who removes our annotations from a pod. */
async function forgetAddresses(containerID: string): Promise<void> {
  const { datastore } = node;
  if (!(datastore instanceof KubernetesNodeDatastore)) throw new Error("the node's datastore is not Kubernetes");
  const names = ["podIP", "podIPs", "containerID"].map((name) => `cni.netplug.io/${name}-`);
  await datastore.api.kubectl(["annotate", "pod", containerID.toLowerCase(), ...names]);
}

const changes: readonly [what: string, changed: Json][] = [
  ["an address by the runtime's capability", { capabilities: { ips: true }, runtimeConfig: { ips: ["10.65.0.222"] } }],
  ["an address that lies in no pool", { capabilities: { ips: true }, runtimeConfig: { ips: ["192.0.2.1"] } }],
  ["another pool", { ipam: { ipv4_pools: ["other"] } }],
  ["a pool that does not exist", { ipam: { ipv4_pools: ["nowhere"] } }],
  ["a second family", { ipam: { assign_ipv6: "true" } }],
  ["another MTU", { mtu: 1400 }],
  ["a MAC address", { capabilities: { mac: true }, runtimeConfig: { mac: "02:00:5e:10:00:01" } }],
  ["one route only", { ipam: { routes: [{ dst: "10.99.0.0/16" }] } }],
  ["no routes", { ipam: { routes: [] } }],
];
test.each(changes)("when it asks for %s by now", async (_what, changed) => {
  using pod = new TestNetns();
  const containerID = newContainerID();
  const first = await node.add(pod, { containerID });
  const shown = (): unknown => [pod.link("eth0"), pod.addresses("eth0"), pod.routes(4), pod.neighbours()];
  const [before, recorded] = [shown(), await node.endpoints()];

  expect(await node.add(pod, { containerID, config: node.config(changed) })).toEqual(first);
  expect(shown()).toEqual(before);
  expect(await node.endpoints()).toEqual(recorded);
  expect(await node.addressesInUse()).toBe(1);

  await node.del({ containerID });
  expect(await node.addressesInUse()).toBe(0);
});

test("an MTU that its IPv6 address forbids is no matter of an interface that has another", async () => {
  using pod = new TestNetns();
  const containerID = newContainerID();
  const dualStack = { ipam: { assign_ipv6: "true" } };
  const first = await node.add(pod, { containerID, config: node.config(dualStack) });
  expect(await node.add(pod, { containerID, config: node.config({ ...dualStack, mtu: 1000 }) })).toEqual(first);
  await node.del({ containerID });
});

test("what a later plugin of the chain has changed stays, and is what is told", async () => {
  using pod = new TestNetns();
  const containerID = newContainerID();
  const first = await node.add(pod, {
    containerID,
    config: node.config({ ipam: { routes: [{ dst: "10.98.0.0/16" }, { dst: "10.99.0.0/16" }] } }),
  });
  pod.must(["ip", "link", "set", "eth0", "address", "02:00:5e:10:00:07", "mtu", "1300"]);
  pod.must(["ip", "route", "del", "10.98.0.0/16"]);
  const ifindex = pod.link("eth0")?.ifindex;

  const again = await node.add(pod, { containerID });
  expect(again.ips).toEqual(first.ips);
  expect(again.interfaces?.[1]).toMatchObject({ mac: "02:00:5e:10:00:07", mtu: 1300 });
  expect(again.routes).toEqual([{ dst: "10.99.0.0/16", gw: "169.254.1.1" }]);
  expect(pod.link("eth0")).toMatchObject({ ifindex, address: "02:00:5e:10:00:07", mtu: 1300 });
  // The kernel dropped them with the MAC address.
  expect(pod.neighbours()).toContainEqual(
    expect.objectContaining({ dst: "169.254.1.1", lladdr: "ee:ee:ee:ee:ee:ee", state: ["PERMANENT"] }),
  );
  const check = await node.call("CHECK", { containerID, netns: pod.path, config: node.config({ prevResult: again }) });
  expect([check.status, check.stdout]).toEqual([0, ""]);
  if (isOnEtcd) expect(await node.endpoints()).toMatchObject([{ spec: { mac: "02:00:5e:10:00:07" } }]);
  await node.del({ containerID });
});

test.each<[what: string, turnOff: (pod: TestNetns, hostSide: string) => void]>([
  ["lo", (pod) => pod.must(["ip", "link", "set", "lo", "down"])],
  ["IPv4 forwarding", (_pod, hostSide) => nodePlace.must(["sysctl", "-qw", `net.ipv4.conf.${hostSide}.forwarding=0`])],
])("%s that was turned off beside a complete interface is on again, and the interface stays", async (_what, turnOff) => {
  using pod = new TestNetns();
  const containerID = newContainerID();
  const config = { ipam: { assign_ipv6: "true" } };
  const first = await node.add(pod, { containerID, config: node.config(config) });
  const ifindex = pod.link("eth0")?.ifindex;
  turnOff(pod, first.interfaces?.[0]?.name ?? "");
  const check = async (): Promise<number> =>
    (await node.call("CHECK", { containerID, netns: pod.path, config: node.config({ ...config, prevResult: first }) })).status;
  expect(await check()).toBe(1);

  expect(await node.add(pod, { containerID, config: node.config(config) })).toEqual(first);
  expect([await check(), pod.link("eth0")?.ifindex]).toEqual([0, ifindex]);
});

test.each<[lack: string, command: readonly string[]]>([
  ["its default route", ["ip", "route", "del", "default"]],
  ["its default route of IPv6", ["ip", "-6", "route", "del", "default"]],
  ["its address", ["ip", "address", "flush", "dev", "eth0"]],
])("an interface that has lost %s is made anew, as is asked for now", async (_lack, command) => {
  using pod = new TestNetns();
  const containerID = newContainerID();
  const dualStack = { ipam: { assign_ipv6: "true" } };
  const first = await node.add(pod, { containerID, config: node.config(dualStack) });
  pod.must(command);
  const runtimeConfig = { mac: "02:00:5e:10:00:01" };

  const again = await node.add(pod, { containerID, config: node.config({ ...dualStack, mtu: 1400, runtimeConfig }) });
  expect([again.ips, again.routes]).toEqual([first.ips, first.routes]);
  expect(again.interfaces?.[1]).toMatchObject({ mac: "02:00:5e:10:00:01", mtu: 1400 });
  expect(pod.link("eth0")).toMatchObject({ address: "02:00:5e:10:00:01", mtu: 1400 });
  expect(pod.routes(4)).toContainEqual(expect.objectContaining({ dst: "default", gateway: "169.254.1.1" }));
  expect(pod.routes(6)).toContainEqual(expect.objectContaining({ dst: "default", gateway: "fe80::ecee:eeff:feee:eeee" }));
  if (isOnEtcd) expect(await node.endpoints()).toMatchObject([{ spec: { mac: "02:00:5e:10:00:01" } }]);
  await node.del({ containerID });
});

test.each<[what: string, lose: readonly string[], given: Json, wanted: Json]>([
  ["one of its routes was lost", ["ip", "route", "del", "default"], { routes: [{ dst: "0.0.0.0/0" }, { dst: "10.99.0.0/16" }] }, {}],
  // Nothing tells this from a lost one.
  ["it asks for a route besides", ["true"], {}, { include_default_routes: true, ipam: { routes: [{ dst: "10.99.0.0/16" }] } }],
])("when %s it has all of them afterwards", async (_what, lose, given, wanted) => {
  using pod = new TestNetns();
  const containerID = newContainerID();
  const config = { ipam: given };
  const first = await node.add(pod, { containerID, config: node.config(config) });
  pod.must(lose);
  const again = await node.add(pod, { containerID, config: node.config({ ...config, ...wanted }) });
  expect(again.ips).toEqual(first.ips);
  expect(again.routes?.map(({ dst }) => dst).sort()).toEqual(["0.0.0.0/0", "10.99.0.0/16"]);
  for (const dst of ["default", "10.99.0.0/16"]) {
    expect(pod.routes(4)).toContainEqual(expect.objectContaining({ dst, gateway: "169.254.1.1" }));
  }
});

test("when it has a second family by now, and its record was lost", async () => {
  using pod = new TestNetns();
  const containerID = newContainerID();
  const first = await node.add(pod, { containerID });
  const recorded = await node.endpoints();
  if (isOnEtcd) await node.etcd.ctl(["del", "/netplug/v3/workloadendpoints/", "--prefix"]);
  else await forgetAddresses(containerID);
  expect(await node.endpoints()).toEqual([]);
  const ifindex = pod.link("eth0")?.ifindex ?? 0;

  expect(await node.add(pod, { containerID, config: node.config({ ipam: { assign_ipv6: "true" } }) })).toEqual(first);
  expect([pod.link("eth0")?.ifindex, await node.addressesInUse()]).toEqual([ifindex, 1]);
  expect(await node.endpoints()).toMatchObject(recorded.map((one) => ({ spec: one["spec"] as Json })));
  await node.del({ containerID });
  expect(await node.addressesInUse()).toBe(0);
});

test("in a network of another name it is code 109, and neither that ADD nor its DEL takes anything from it", async () => {
  using pod = new TestNetns();
  const containerID = newContainerID();
  const first = await node.add(pod, { containerID });
  const [keys, records] = [await node.keys(), await node.endpoints()];
  const elsewhere = { containerID, netns: pod.path, config: node.config({ name: "other-net" }) };
  expect((await node.call("ADD", elsewhere)).json?.code).toBe(109);
  for (let times = 0; times < 2; times++) {
    await node.del(elsewhere);
    expect([await node.keys(), await node.endpoints()]).toEqual([keys, records]);
  }
  const check = await node.call("CHECK", { containerID, netns: pod.path, config: node.config({ prevResult: first }) });
  expect([check.status, check.stdout]).toEqual([0, ""]);
  await node.del({ containerID, netns: pod.path });
  expect([await node.addressesInUse(), await node.endpoints()]).toEqual([0, []]);
});

test("when its interface is gone it gets the same address again", async () => {
  using pod = new TestNetns();
  const containerID = newContainerID();
  const first = await node.add(pod, { containerID });
  pod.must(["ip", "link", "delete", "eth0"]);

  const runtimeConfig = { ips: ["10.65.0.222"] };
  const again = await node.add(pod, { containerID, config: node.config({ capabilities: { ips: true }, runtimeConfig }) });
  expect(again.ips).toEqual(first.ips);
  await node.del({ containerID });
  expect(await node.addressesInUse()).toBe(0);
});

test("when somebody has released its address it gets what it asks for now", async () => {
  using pod = new TestNetns();
  const containerID = newContainerID();
  const first = await node.add(pod, { containerID });
  await node.ctl(["ipam", "release", `--ip=${first.ips?.[0]?.address.replace("/32", "")}`]);

  const runtimeConfig = { ips: ["10.65.0.222"] };
  const again = await node.add(pod, { containerID, config: node.config({ capabilities: { ips: true }, runtimeConfig }) });
  expect(again.ips?.map(({ address }) => address)).toEqual(["10.65.0.222/32"]);
  await node.del({ containerID });
  expect(await node.addressesInUse()).toBe(0);
});
