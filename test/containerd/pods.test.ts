/** The distribution's containerd makes pods with the plugin, asked as a kubelet asks: they talk, a host port works, nothing stays. */

import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { Json } from "../support/programs/cni-call.ts";
import { DOCUMENTED_RULES, DOCUMENTED_TABLE } from "../support/documents/documented-rules.ts";
import { type NetworkPlace, nodePlace, TestNetns } from "../support/node/netns.ts";
import { requireOwnNamespace } from "../support/node/own-namespace.ts";
import { share } from "../support/share.ts";
import { TestNode } from "../support/node/test-node.ts";
import { IMAGE, PrivateContainerd } from "./containerd.ts";
import type { PodSandboxSpec } from "./cri-client.ts";

const HOST_PORT = 18_080;
const POD_PORT = 8_080;

const node = share(() => {
  requireOwnNamespace("containerd");
  return TestNode.start(["10.65.0.0/24"]);
});
const containerd = share(() => {
  const { cniVersion: _version, name, ...plugin } = node.config();
  const portmap: Json = { type: "portmap", snat: true, capabilities: { portMappings: true } };
  return PrivateContainerd.start({ cniVersion: "1.0.0", name, plugins: [plugin, portmap] });
});

interface RunningPod {
  readonly sandboxID: string;
  readonly containerID: string;
  readonly address: string;
}

async function runPod(
  name: string,
  portMappings: PodSandboxSpec["portMappings"] = [],
  command: readonly string[] = ["/bin/sleep", "3600"],
): Promise<RunningPod> {
  const { logFolder, cgroup } = containerd;
  const pod: PodSandboxSpec = { name, namespace: "default", uid: crypto.randomUUID(), logFolder, cgroup, portMappings };
  const sandboxID = await containerd.cri.runPod(pod);
  const containerID = await containerd.cri.runContainer(sandboxID, pod, "main", IMAGE, command);
  return { sandboxID, containerID, address: await containerd.cri.podAddress(sandboxID) };
}

test("two pods get addresses of the pool and ping each other; removing them leaves nothing", async () => {
  const web = await runPod("web");
  const client = await runPod("client");
  expect([web.address, client.address]).toEqual([expect.stringMatching(/^10\.65\.0\./), expect.stringMatching(/^10\.65\.0\./)]);
  expect(web.address).not.toBe(client.address);
  for (const [from, to] of [
    [client, web],
    [web, client],
  ] as const) {
    const ping = await containerd.cri.exec(from.containerID, ["ping", "-c", "1", "-W", "2", to.address]);
    expect([ping.status, ping.stdout]).toEqual([0, expect.stringContaining("1 packets received")]);
  }
  const endpoints = JSON.stringify(await node.endpoints());
  const results = readdirSync(join(containerd.libFolder, "cni/results")).join();
  for (const { sandboxID } of [web, client]) {
    expect(endpoints).toContain(sandboxID);
    expect(results).toContain(sandboxID);
  }
  expect(readdirSync(join(containerd.runFolder, "containerd/s"))).not.toEqual([]);

  for (const { sandboxID } of [web, client]) await containerd.cri.removePod(sandboxID);
  expect(await node.addressesInUse()).toBe(0);
  expect(await node.endpoints()).toEqual([]);
  expect(nodePlace.links().map(({ ifname }) => ifname)).toEqual(["lo"]);
});

test("portmap, chained after the plugin, forwards a host port from outside of the node to the pod, under the rules of SECURITY.md too", async () => {
  using outside = new TestNetns();
  nodePlace.must(["ip", "link", "add", "npgt-out", "type", "veth", "peer", "name", "up0", "netns", outside.netns]);
  nodePlace.must(["ip", "address", "add", "192.0.2.1/30", "dev", "npgt-out"]);
  nodePlace.must(["ip", "link", "set", "npgt-out", "up"]);
  nodePlace.must(["sysctl", "-qw", "net.ipv4.ip_forward=1"]);
  outside.must(["ip", "address", "add", "192.0.2.2/30", "dev", "up0"]);
  outside.must(["ip", "link", "set", "up0", "up"]);

  const server = await runPod(
    "server",
    [{ containerPort: POD_PORT, hostPort: HOST_PORT }],
    ["/bin/nc", "-ll", "-p", String(POD_PORT), "-e", "/bin/echo", "hello from the pod"],
  );
  const ask = ["busybox", "nc", "-w", "3", "192.0.2.1", String(HOST_PORT)];
  expect((await untilAnswered(outside, ask)).trim()).toBe("hello from the pod");

  nodePlace.must(["nft", "-f", "-"], DOCUMENTED_RULES);
  expect((await untilAnswered(outside, ask)).trim()).toBe("hello from the pod");
  const fromNode = ["busybox", "nc", "-w", "3", "127.0.0.1", String(HOST_PORT)];
  expect((await untilAnswered(nodePlace, fromNode)).trim()).toBe("hello from the pod");
  nodePlace.must(["nft", "delete", "table", "inet", DOCUMENTED_TABLE]);

  await containerd.cri.removePod(server.sandboxID);
  expect(nodePlace.must(["iptables-save", "-t", "nat"])).not.toContain(`${server.address}:${POD_PORT}`);
  expect(await node.addressesInUse()).toBe(0);
  nodePlace.must(["ip", "link", "del", "npgt-out"]);
});

/** The server inside the pod needs a moment after the container's start. */
async function untilAnswered(from: NetworkPlace, command: readonly string[]): Promise<string> {
  let last = "";
  for (const end = performance.now() + 60_000; performance.now() < end; await Bun.sleep(100)) {
    const { status, stdout, stderr } = from.run(command);
    if (status === 0 && stdout !== "") return stdout;
    last = `status ${status}: ${stderr}`;
  }
  throw new Error(`${command.join(" ")}: ${last}`);
}
