/** A node that is known by another name than when its pods began: its DELs release what they had, and nothing of other nodes. */

import { beforeEach, expect, test } from "bun:test";
import type { CniJson } from "../support/programs/cni.ts";
import type { AttachmentCall, Json } from "../support/programs/cni-call.ts";
import { TestNetns } from "../support/node/netns.ts";
import { share } from "../support/share.ts";
import { TestNode } from "../support/node/test-node.ts";

let containerID: string;
const node = share(() => TestNode.start(["10.65.0.0/24", "fd65::/112"]));
beforeEach(() => void (containerID = node.newContainerID()));

const DUAL: Json = { ipam: { assign_ipv6: "true" } };
/** The config of a DEL, with what the runtime remembers of the ADD. */
const renamed = (prevResult?: CniJson): Json => node.config({ ...DUAL, nodename: "node-new", ...(prevResult && { prevResult }) });

test.each(["netplug", "netplug-ipam"] as const)("a DEL of %s releases what the runtime says the ADD got", async (plugin) => {
  using pod = new TestNetns();
  const call = { plugin, containerID, netns: pod.path };
  const result = await node.add(pod, { ...call, config: node.config(DUAL) });
  expect(result.ips).toHaveLength(2);
  await node.del({ ...call, config: renamed(result) });
  expect([pod.link("eth0"), await node.addressesInUse(), await node.endpoints()]).toEqual([undefined, 0, []]);
  await node.del({ ...call, config: renamed(result) });
});

test("what a DEL could not release, for the datastore was away, a DEL under the node's next name releases", async () => {
  using pod = new TestNetns();
  const call = { containerID, netns: pod.path };
  const result = await node.add(pod, { ...call, config: node.config(DUAL) });
  const failed = await node.call("DEL", { ...call, config: node.config({ ...DUAL, ...node.datastore.nowhere, prevResult: result }) });
  expect([failed.json?.code, await node.addressesInUse()]).toEqual([11, 2]);
  await node.del({ containerID: node.newContainerID(), config: renamed() });
  expect([await node.addressesInUse(), await node.endpoints()]).toEqual([0, []]);
});

test("and takes nothing from the same container, which is in another network by then", async () => {
  using pod = new TestNetns();
  const call = { containerID, netns: pod.path };
  const result = await node.add(pod, { ...call, config: node.config() });
  await node.call("DEL", { ...call, config: node.config({ ...node.datastore.nowhere, prevResult: result }) });
  const other = { ...call, config: node.config({ name: "other-net", nodename: "node-new" }) };
  const prevResult = await node.add(pod, other);
  expect(await node.addressesInUse()).toBe(2);
  await node.del({ containerID: node.newContainerID(), config: renamed() });
  expect([await node.addressesInUse(), (await node.endpoints()).length]).toEqual([1, 1]);
  expect((await node.call("CHECK", { ...other, config: { ...other.config, prevResult } })).status).toBe(0);
  await node.del(other);
  expect([await node.addressesInUse(), await node.endpoints()]).toEqual([0, []]);
});

test("a DEL asks for no more where the runtime remembers a result without addresses than where it remembers none", async () => {
  const roundTrips: unknown[] = [];
  for (const prevResult of [undefined, { cniVersion: "1.1.0" }]) {
    await node.del({ containerID, config: node.config({ ...(prevResult && { prevResult }) }) });
    roundTrips.push(node.logLines().findLast(({ verb }) => verb === "DEL")?.["roundTrips"]);
  }
  expect(roundTrips).toEqual([roundTrips[0], roundTrips[0]]);
  expect(roundTrips[0]).toBeGreaterThan(0);
});

test("what another container has by now stays, and so does all of another node that uses the same container ID", async () => {
  const of = (id: string, config: Json): AttachmentCall => ({
    plugin: "netplug-ipam",
    containerID: id,
    config,
  });
  using pod = new TestNetns();
  const result = await node.add(pod, of(containerID, node.config()));
  const ips = result.ips?.map(({ address }) => address.split("/")[0]);
  await node.ctl(["ipam", "release", `--ip=${ips?.[0]}`]);
  const other = node.newContainerID();
  using otherPod = new TestNetns();
  expect((await node.add(otherPod, of(other, node.config({ args: { cni: { ips } } })))).ips).toEqual(result.ips ?? []);

  await node.del(of(containerID, renamed(result)));
  await node.del(of(other, renamed()));
  expect(await node.addressesInUse()).toBe(1);
  await node.del(of(other, node.config()));
  expect(await node.addressesInUse()).toBe(0);
});
