/** `netplug-ipam` under main plugins of the CNI project. */

import { expect, test } from "bun:test";
import { nodePlace, TestNetns } from "../support/node/netns.ts";
import { share } from "../support/share.ts";
import { TestNode } from "../support/node/test-node.ts";

const node = share(() => TestNode.start(["10.65.0.0/24", "fd65::/112"]));

const configFor = (type: string, extra: Record<string, unknown> = {}, ipam: Record<string, unknown> = {}) => {
  const { nodename, lib_dir, ipam_lock_file, agent_socket } = node.config();
  return {
    cniVersion: "1.0.0",
    name: "mixed",
    type,
    ...node.datastore.config,
    nodename,
    lib_dir,
    ipam_lock_file,
    agent_socket,
    ...extra,
    ipam: { type: "netplug-ipam", assign_ipv6: "true", ...ipam },
  };
};

test("ptp: the pod reaches the node by its gateway, and DEL releases", async () => {
  using pod = new TestNetns();
  const containerID = node.newContainerID();
  const config = configFor("ptp");
  const result = await node.call("ADD", { plugin: "ptp", containerID, netns: pod.path, config });
  expect([result.status, result.stdout]).toEqual([0, expect.stringContaining("10.65.0.")]);
  const node4 = pod.run(["ping", "-c", "1", "-W", "2", "169.254.1.1"]);
  expect(node4.status).toBe(0);
  await expectReleased("ptp", containerID, pod, config);
});

test("ptp: no route of the pod leads farther than to its block, and the log warns of those that the config lists", async () => {
  using pod = new TestNetns();
  const containerID = node.newContainerID();
  const config = configFor("ptp", {}, { routes: [{ dst: "0.0.0.0/0" }] });
  const added = await node.call("ADD", { plugin: "ptp", containerID, netns: pod.path, config });
  expect(added).toMatchObject({
    status: 0,
    stderr: expect.stringContaining('WARNING "ipam.routes" has no effect under another main plugin'),
  });
  const routes = JSON.parse(pod.must(["ip", "-json", "route"])) as readonly { readonly dst: string }[];
  expect(routes.map(({ dst }) => dst)).toEqual([expect.stringMatching(/^10\.65\.0\.\d+\/26$/), "169.254.1.1"]);
  await expectReleased("ptp", containerID, pod, config);

  const without = await node.call("ADD", { plugin: "ptp", containerID, netns: pod.path, config: configFor("ptp", {}, { routes: [] }) });
  expect(without).toMatchObject({ status: 0, stderr: expect.not.stringContaining("WARNING") });
  await expectReleased("ptp", containerID, pod, config);
});

test.each(["bridge", "macvlan"])("%s as plain layer 2: two pods of one block reach each other", async (type) => {
  const master = "npgt-m0";
  if (type === "macvlan") {
    nodePlace.must(["ip", "link", "add", master, "type", "bridge"]);
    nodePlace.must(["ip", "link", "set", master, "up"]);
  }
  try {
    using one = new TestNetns();
    using two = new TestNetns();
    const [oneID, twoID] = [node.newContainerID(), node.newContainerID()];
    const config = configFor(type, type === "macvlan" ? { master, mode: "bridge" } : { bridge: "npgt-b0" });
    const first = await node.call("ADD", { plugin: type, containerID: oneID, netns: one.path, config });
    expect([first.status, first.stdout]).toEqual([0, expect.stringContaining("10.65.0.")]);
    const second = await node.call("ADD", { plugin: type, containerID: twoID, netns: two.path, config });
    expect(second.status).toBe(0);
    const target = first.json?.ips?.[0]?.address.split("/")[0] ?? "";
    expect(two.run(["ping", "-c", "1", "-W", "2", target]).status).toBe(0);
    await node.call("DEL", { plugin: type, containerID: oneID, netns: one.path, config });
    await expectReleased(type, twoID, two, config);
  } finally {
    for (const name of [master, "npgt-b0"]) nodePlace.run(["ip", "link", "del", name]);
  }
});

async function expectReleased(plugin: string, containerID: string, pod: TestNetns, config: Record<string, unknown>): Promise<void> {
  const reply = await node.call("DEL", { plugin, containerID, netns: pod.path, config });
  expect([reply.status, reply.stdout]).toEqual([0, ""]);
  expect(await node.addressesInUse()).toBe(0);
  // an allocation for another main plugin has no endpoint
  expect(await node.endpoints()).toEqual([]);
}
