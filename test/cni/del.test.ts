/** DEL: always everything that can be done, whatever is gone already. */

import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { hostInterfaceName, TestNode } from "../support/cni.ts";
import { nodePlace, TestNetns } from "../support/netns.ts";

let node: TestNode;
beforeAll(async () => {
  node = await TestNode.start(["10.65.0.0/24"]);
});
afterAll(async () => await node[Symbol.asyncDispose]());
let containerID: string;
beforeEach(() => {
  containerID = node.newContainerID();
});

async function expectNothingLeft(): Promise<void> {
  expect(nodePlace.link(hostInterfaceName({ containerID }))).toBeUndefined();
  expect(nodePlace.routes(4).filter(({ dst }) => dst.startsWith("10.65."))).toEqual([]);
  expect(await node.addressesInUse()).toBe(0);
  expect(await node.endpoints()).toEqual([]);
}

test("of an attachment that never was succeeds, silently", async () => {
  const reply = await node.call("DEL", { containerID, netns: "/run/netns/never-was" });
  expect([reply.status, reply.stdout]).toEqual([0, ""]);
});

test.each([
  ["without a namespace", undefined],
  ["with an empty namespace", ""],
])("%s removes the interface by the host's side", async (_what, netns) => {
  using pod = new TestNetns();
  await node.add(pod, { containerID });
  await node.del({ containerID, ...(netns === undefined ? {} : { netns }) });
  expect(pod.link("eth0")).toBeUndefined();
  await expectNothingLeft();
});

test("of a namespace that is gone releases the address", async () => {
  using pod = new TestNetns();
  await node.add(pod, { containerID });
  pod.delete();
  await node.del({ containerID, netns: pod.path });
  await expectNothingLeft();
});

test("with a wrong type in a key that it does not need goes on", async () => {
  using pod = new TestNetns();
  await node.add(pod, { containerID });
  await node.del({
    containerID,
    netns: pod.path,
    config: node.config({ mtu: "large", num_queues: -1, readiness_gates: 7, prevResult: 5 }),
  });
  await expectNothingLeft();
});

test("leaves an interface alone that is not ours", async () => {
  using pod = new TestNetns();
  pod.must(["ip", "link", "add", "eth0", "type", "bridge"]);
  await node.del({ containerID, netns: pod.path });
  expect(pod.link("eth0")).toBeDefined();
});

test("with the datastore away removes the interface and is code 11; the next one releases the address", async () => {
  using pod = new TestNetns();
  await node.add(pod, { containerID });
  await node.etcd.stop();
  const reply = await node.call("DEL", { containerID, netns: pod.path });
  expect([reply.status, reply.json?.code]).toEqual([1, 11]);
  expect(pod.link("eth0")).toBeUndefined();
  expect(nodePlace.link(hostInterfaceName({ containerID }))).toBeUndefined();
  await node.etcd.start();
  expect(await node.addressesInUse()).toBe(1);
  await node.del({ containerID, netns: pod.path });
  await expectNothingLeft();
});

test("two at once of one attachment both succeed", async () => {
  using pod = new TestNetns();
  await node.add(pod, { containerID });
  const replies = await Promise.all([1, 2].map(async () => await node.call("DEL", { containerID, netns: pod.path })));
  expect(replies.map(({ status, stdout }) => [status, stdout])).toEqual([
    [0, ""],
    [0, ""],
  ]);
  await expectNothingLeft();
});
