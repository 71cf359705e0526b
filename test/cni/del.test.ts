/** DEL: always everything that can be done, whatever is gone already. */

import { beforeEach, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { hostInterfaceName } from "../support/programs/cni.ts";
import type { Json } from "../support/programs/cni-call.ts";
import { nodePlace, TestNetns } from "../support/node/netns.ts";
import { share } from "../support/share.ts";
import { TestNode } from "../support/node/test-node.ts";

const node = share(() => TestNode.start(["10.65.0.0/24"]));
let containerID: string;
beforeEach(() => {
  containerID = node.newContainerID();
});

const ETCD: Json = { datastore_type: "etcdv3" };

async function expectNothingLeft(): Promise<void> {
  expect(nodePlace.link(node.hostSide(containerID))).toBeUndefined();
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

test("does not need the list of valid attachments, nor node names beside nodename", async () => {
  using pod = new TestNetns();
  await node.add(pod, { containerID });
  const config = node.config({ "cni.dev/valid-attachments": 5, hostname: 5, nodename_file: "x", etcd_scheme: 7 });
  await node.del({ containerID, netns: pod.path, config });
  await expectNothingLeft();
});

describe("that cannot know the datastore, or itself in it, removes the interface and then says so", () => {
  test.each<[what: string, overrides: Json, env: Readonly<Record<string, string>>, code: number]>([
    ["datastore_type kubernetes", { datastore_type: "kubernetes", kubernetes: {} }, {}, 7],
    ["a datastore type that does not exist", { datastore_type: "sqlite" }, {}, 7],
    ["endpoints of a wrong type", { ...ETCD, etcd_endpoints: 5 }, {}, 7],
    ["endpoints beside discovery", { ...ETCD, etcd_endpoints: "http://127.0.0.1:1", etcd_discovery_srv: "example.org" }, {}, 7],
    ["endpoints of the environment that are none", { ...ETCD, etcd_endpoints: "" }, { ETCD_ENDPOINTS: "::::" }, 7],
    ["a certificate without key", { ...ETCD, etcd_cert_file: "/nowhere" }, {}, 7],
    ["a node name of a wrong type", { nodename: 5 }, {}, 7],
    ["a node name that cannot be one", { nodename: "../x" }, {}, 7],
    ["a node name file that is a folder", { nodename: "", nodename_file: "/tmp" }, {}, 5],
    ["ipam of a wrong type", { ipam: { type: 5 } }, {}, 7],
    ["CNI_ARGS that are none", {}, { CNI_ARGS: "a=b=c" }, 104],
  ])("%s", async (_what, overrides, env, code) => {
    using pod = new TestNetns();
    await node.add(pod, { containerID, args: "K8S_POD_NAMESPACE=default;K8S_POD_NAME=lost" });
    const reply = await node.call("DEL", { containerID, netns: pod.path, config: node.config(overrides), env });
    expect([reply.status, reply.json?.code]).toEqual([1, code]);
    expect(pod.link("eth0")).toBeUndefined();
    expect(nodePlace.link(hostInterfaceName({ namespace: "default", pod: "lost" }))).toBeUndefined();
    // what failed is in the log file, too
    expect(node.logLines().at(-2)).toMatchObject({ level: "ERROR", containerID, msg: reply.json?.msg, code });
    await node.del({ containerID, netns: pod.path });
    await expectNothingLeft();
  });

  test("a delegate releases what it gave", async () => {
    using pod = new TestNetns();
    const dataDir = join(node.folder, "host-local");
    const ipam = { type: "host-local", subnet: "10.77.0.0/24", dataDir };
    await node.add(pod, { containerID, config: node.config({ ipam }) });
    const reserved = (): readonly string[] => readdirSync(join(dataDir, "test-net")).filter((name) => name.startsWith("10."));
    expect(reserved()).toHaveLength(1);
    const config = node.config({ ipam, datastore_type: "kubernetes", kubernetes: {} });
    const reply = await node.call("DEL", { containerID, netns: pod.path, config });
    expect([reply.status, reply.json?.code]).toEqual([1, 7]);
    expect(reserved()).toEqual([]);
    await node.del({ containerID, netns: pod.path, config: node.config({ ipam }) });
    expect(await node.endpoints()).toEqual([]);
  });
});

describe("whose CNI_ARGS cannot be read does its work without them, and then says so", () => {
  const args = "K8S_POD_NAMESPACE=default;K8S_POD_NAME=lost";
  const env = { CNI_ARGS: "K8S_POD_NAME=lost" };

  test("interface, address and record go", async () => {
    using pod = new TestNetns();
    await node.add(pod, { containerID, args });
    const reply = await node.call("DEL", { containerID, netns: pod.path, env });
    expect([reply.status, reply.json?.code]).toEqual([1, 104]);
    expect(pod.link("eth0")).toBeUndefined();
    await expectNothingLeft();
  });

  test("a delegate releases what it gave: it does not see them", async () => {
    using pod = new TestNetns();
    const dataDir = join(node.folder, "host-local-args");
    const config = node.config({ ipam: { type: "host-local", subnet: "10.77.0.0/24", dataDir } });
    await node.add(pod, { containerID, args, config });
    const reply = await node.call("DEL", { containerID, netns: pod.path, config, env });
    expect([reply.status, reply.json?.code, reply.json?.details]).toEqual([1, 104, undefined]);
    expect(readdirSync(join(dataDir, "test-net")).filter((name) => name.startsWith("10."))).toEqual([]);
    await node.del({ containerID, netns: pod.path, config, args });
    expect(await node.endpoints()).toEqual([]);
  });
});

describe("after an ADD that its CNI_ARGS ended succeeds, for no DEL needs what the ADD asked for", () => {
  test.each(["IP=10.65.0.7/26,fd65::7/122", "IP=10.65.0.7;IP=10.65.0.8", "MAC=mine", "IP=none;MAC="])("%s", async (request) => {
    using pod = new TestNetns();
    const args = `K8S_POD_NAMESPACE=default;K8S_POD_NAME=lost;${request}`;
    const refused = await node.call("ADD", { containerID, netns: pod.path, args });
    expect([refused.status, refused.json?.code]).toEqual([1, 104]);
    await node.del({ containerID, netns: pod.path, args });
    // nor does the DEL of one that had worked; without the namespace, the interface is found by the pod's name
    await node.add(pod, { containerID, args: "K8S_POD_NAMESPACE=default;K8S_POD_NAME=lost" });
    await node.del({ containerID, args });
    expect(nodePlace.link(hostInterfaceName({ namespace: "default", pod: "lost" }))).toBeUndefined();
    await expectNothingLeft();
  });

  test("a delegate does not see it", async () => {
    using pod = new TestNetns();
    const dataDir = join(node.folder, "host-local-requests");
    const config = node.config({ ipam: { type: "host-local", subnet: "10.77.0.0/24", dataDir } });
    await node.add(pod, { containerID, config });
    await node.del({ containerID, netns: pod.path, config, args: "IgnoreUnknown=1;IP=none" });
    expect(readdirSync(join(dataDir, "test-net")).filter((name) => name.startsWith("10."))).toEqual([]);
    await expectNothingLeft();
  });

  test("what has not exactly one = is no request", async () => {
    const reply = await node.call("DEL", { containerID, args: "IP=10.65.0.7=" });
    expect([reply.status, reply.json?.code]).toEqual([1, 104]);
  });
});

test("that may not take the interface away keeps its address, which another pod would get", async () => {
  using pod = new TestNetns();
  await node.add(pod, { containerID });
  const reply = await node.call("DEL", { containerID, netns: pod.path, plugin: node.pluginWithout("net_admin") });
  expect([reply.status, reply.json?.code, reply.json?.msg]).toEqual([1, 109, expect.stringContaining("EPERM")]);
  expect(pod.link("eth0")).toBeDefined();
  expect([await node.addressesInUse(), (await node.endpoints()).length]).toEqual([1, 1]);
  await node.del({ containerID, netns: pod.path });
  await expectNothingLeft();
});

test("with the type of another plugin goes on", async () => {
  using pod = new TestNetns();
  await node.add(pod, { containerID });
  await node.del({ containerID, netns: pod.path, config: node.config({ type: "renamed" }) });
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
  await node.datastore.stop();
  const reply = await node.call("DEL", { containerID, netns: pod.path });
  expect([reply.status, reply.json?.code]).toEqual([1, 11]);
  expect(pod.link("eth0")).toBeUndefined();
  expect(nodePlace.link(node.hostSide(containerID))).toBeUndefined();
  await node.datastore.start();
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
