/** An ADD that is repeated after what it asks for has changed: a running pod keeps what it has. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Json } from "../support/cni-call.ts";
import { TestNetns } from "../support/netns.ts";
import { TestNode } from "../support/test-node.ts";

let node: TestNode;
beforeAll(async () => {
  node = await TestNode.start([]);
  await node.createPool("first", { cidr: "10.65.0.0/24" });
  await node.createPool("other", { cidr: "10.66.0.0/24", assignmentMode: "Manual" });
  await node.createPool("six", { cidr: "fd65::/112", blockSize: 122 });
});
afterAll(async () => await node?.[Symbol.asyncDispose]());

const changes: readonly [what: string, changed: Json][] = [
  ["an address by the runtime's capability", { capabilities: { ips: true }, runtimeConfig: { ips: ["10.65.0.222"] } }],
  ["an address that lies in no pool", { capabilities: { ips: true }, runtimeConfig: { ips: ["192.0.2.1"] } }],
  ["another pool", { ipam: { ipv4_pools: ["other"] } }],
  ["a pool that does not exist", { ipam: { ipv4_pools: ["nowhere"] } }],
  ["a second family", { ipam: { assign_ipv6: "true" } }],
];
test.each(changes)("when it asks for %s by now", async (_what, changed) => {
  using pod = new TestNetns();
  const containerID = node.newContainerID();
  const first = await node.add(pod, { containerID });
  const before = pod.addresses("eth0");

  expect(await node.add(pod, { containerID, config: node.config(changed) })).toEqual(first);
  expect(pod.addresses("eth0")).toEqual(before);
  expect(await node.addressesInUse()).toBe(1);

  await node.del({ containerID });
  expect(await node.addressesInUse()).toBe(0);
});

test("when its interface is gone it gets the same address again", async () => {
  using pod = new TestNetns();
  const containerID = node.newContainerID();
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
  const containerID = node.newContainerID();
  const first = await node.add(pod, { containerID });
  await node.ctl(["ipam", "release", `--ip=${first.ips?.[0]?.address.replace("/32", "")}`]);

  const runtimeConfig = { ips: ["10.65.0.222"] };
  const again = await node.add(pod, { containerID, config: node.config({ capabilities: { ips: true }, runtimeConfig }) });
  expect(again.ips?.map(({ address }) => address)).toEqual(["10.65.0.222/32"]);
  await node.del({ containerID });
  expect(await node.addressesInUse()).toBe(0);
});
