/**
 * What `netplug-ipam` gave under a main plugin of the CNI project, and nobody calls DEL for again: it is released, but never while the pod
 * may use it.
 */

import { afterEach, beforeEach, expect, test } from "bun:test";
import { join } from "node:path";
import { cniPluginsFolder, type CniReply, distFolder } from "../support/programs/cni.ts";
import type { CniVerb, Json } from "../support/programs/cni-call.ts";
import { nodePlace, TestNetns } from "../support/node/netns.ts";
import { pendingReleasesOf } from "../support/node/pending-releases.ts";
import { TcpProxy } from "../support/servers/tcp-proxy.ts";
import { TestNode } from "../support/node/test-node.ts";

let stack: AsyncDisposableStack;
let node: TestNode;
/** Another way to etcd, on which replies get lost. */
let proxy: TcpProxy;
beforeEach(async () => {
  stack = new AsyncDisposableStack();
  node = stack.use(await TestNode.start(["10.65.0.0/24"]));
  proxy = stack.use(new TcpProxy(node.etcd.port));
});
afterEach(async () => await stack.disposeAsync());

/** The network config of a main plugin. */
function configFor(type: string, overrides: Json = {}): Json {
  return { ...node.config({ cniVersion: "1.0.0", type, bridge: "npgt-b1", ...overrides }) };
}

function byProxy(): Json {
  return { etcd_endpoints: `http://127.0.0.1:${proxy.port}` };
}

function ptp(verb: CniVerb, containerID: string, netns: string | undefined, overrides: Json = {}): Promise<CniReply> {
  return node.call(verb, { plugin: "ptp", containerID, ...(netns !== undefined && { netns }), config: configFor("ptp", overrides) });
}

/** Kills ptp while its IPAM plugin waits for etcd: what a runtime does to the plugins whose time is over. The IPAM plugin goes on. */
async function addWithoutMain(containerID: string, pod: TestNetns): Promise<void> {
  proxy.mode = "hold";
  const config = configFor("ptp", { ...byProxy(), log_level: "INFO" });
  const env = {
    PATH: process.env["PATH"] ?? "",
    CNI_COMMAND: "ADD",
    CNI_PATH: `${distFolder}:${cniPluginsFolder}`,
    CNI_CONTAINERID: containerID,
    CNI_NETNS: pod.path,
    CNI_IFNAME: "eth0",
  };
  const stdin = Buffer.from(JSON.stringify(config));
  const main = Bun.spawn([join(cniPluginsFolder, "ptp")], { env, stdin, stdout: "ignore", stderr: "ignore" });
  await proxy.firstFault;
  main.kill("SIGKILL");
  await main.exited;
}

function addOf(containerID: string): Json | undefined {
  return node.logLines().find((line) => line["verb"] === "ADD" && line["containerID"] === containerID && line["msg"] === "ledger");
}

test("an ADD that outlives ptp, the DEL and the namespace keeps nothing", async () => {
  using pod = new TestNetns();
  const containerID = node.newContainerID();
  await addWithoutMain(containerID, pod);
  expect((await ptp("DEL", containerID, pod.path)).status).toBe(0);
  pod.delete();
  proxy.letGo();
  await node.until("the end of the ADD", () => addOf(containerID) !== undefined);
  expect(await node.addressesInUse()).toBe(0);
  expect(addOf(containerID)).toMatchObject({ code: 8 });
  expect(pendingReleasesOf(node)).toEqual([]);
});

test("what a DEL could not release, another container's DEL does once the namespace is gone, and not before", async () => {
  using pod = new TestNetns();
  const [containerID, other] = [node.newContainerID(), node.newContainerID()];
  expect((await ptp("ADD", containerID, pod.path)).status).toBe(0);
  proxy.mode = "drop";
  expect((await ptp("DEL", containerID, pod.path, byProxy())).json).toMatchObject({ code: 11 });
  // ptp leaves its interface where its addresses could not be released.
  expect(pod.link("eth0")).toBeDefined();
  expect((await ptp("DEL", other, undefined)).status).toBe(0);
  expect(await node.addressesInUse()).toBe(1);
  pod.delete();
  expect((await ptp("DEL", other, undefined)).status).toBe(0);
  expect(await node.addressesInUse()).toBe(0);
  expect(pendingReleasesOf(node)).toEqual([]);
});

test("netplug in a network of the same name releases it as well, and takes it up again", async () => {
  using pod = new TestNetns();
  using again = new TestNetns();
  const [one, two, other] = [node.newContainerID(), node.newContainerID(), node.newContainerID()];
  const given: (string | undefined)[] = [];
  for (const containerID of [one, two]) {
    using first = new TestNetns();
    const { status, json } = await ptp("ADD", containerID, first.path);
    expect(status).toBe(0);
    given.push(json?.ips?.[0]?.address.split("/")[0]);
    expect((await ptp("DEL", containerID, first.path, { etcd_endpoints: "http://127.0.0.1:1" })).json).toMatchObject({ code: 11 });
  }
  expect(pendingReleasesOf(node)).toHaveLength(2);
  // The kernel takes its time to remove what is in a namespace that is gone.
  await node.until("the end of ptp's interfaces", () => nodePlace.routes(4).every(({ dst }) => !given.includes(dst)));
  const added = await node.add(again, { containerID: two });
  await node.del({ containerID: other, netns: pod.path });
  expect(await node.addressesInUse()).toBe(1);
  expect(pendingReleasesOf(node)).toEqual([]);
  expect(again.addresses("eth0")).toEqual([added.ips?.[0]?.address ?? ""]);
  await node.del({ containerID: two, netns: again.path });
  expect(await node.addressesInUse()).toBe(0);
});

test("a plugin that wants addresses alone names any namespace, or one that never was", async () => {
  for (const netns of ["/run/netns/npgt-never", "/dev/null", "/proc/self/ns/net"]) {
    const call = { plugin: "netplug-ipam", containerID: node.newContainerID(), netns, config: configFor("ptp") };
    expect((await node.call("ADD", call)).status).toBe(0);
    expect((await node.call("DEL", { ...call, netns: "" })).status).toBe(0);
  }
  expect(await node.addressesInUse()).toBe(0);
  expect(pendingReleasesOf(node)).toEqual([]);
});
