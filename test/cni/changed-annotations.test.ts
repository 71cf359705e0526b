/**
 * An ADD that is repeated after the pod's annotations have changed: they count when the pod's network is made, and what is told and recorded is
 * what there is.
 */

import { beforeEach, describe, expect } from "bun:test";
import { createPod } from "../support/servers/kubernetes.ts";
import { isOnEtcd, onEtcd } from "../support/node/node-datastore.ts";
import { onApiServer } from "../support/servers/on-api-server.ts";
import { startPodWorld } from "../support/node/pod-world.ts";
import { AttachedPod } from "./support/attached-pod.ts";

type Annotations = Readonly<Record<string, string>>;

const [test, world] = onApiServer(
  () => startPodWorld({ cidrs: ["10.65.0.0/24", "fd65::/112"], rights: ["pods", "namespaces"] }),
  ({ node }) => node.createPool("blue", { cidr: "10.66.0.0/24", assignmentMode: "Manual" }),
);
beforeEach(async () => expect(await world.node.addressesInUse()).toBe(0));

let count = 0;

/** A pod that runs. */
async function startPod(annotations: Annotations): Promise<AttachedPod> {
  const pod = await createPod(world.api, { name: `changing-${count++}`, annotations });
  return await AttachedPod.add(world, pod, world.config({ feature_control: { ip_addrs_no_ipam: true, floating_ips: true } }));
}

/** @param changes null removes */
async function annotate({ pod }: AttachedPod, changes: Readonly<Record<string, string | null>>): Promise<void> {
  const words = Object.entries(changes).map(([name, value]) => `cni.netplug.io/${name}${value === null ? "-" : `=${value}`}`);
  await world.api.kubectl(["annotate", "--overwrite", "pod", pod.name, ...words]);
}

/** What there is of a pod, apart from what the user may change. */
async function shownOf(running: AttachedPod): Promise<unknown> {
  const { netns } = running;
  const { metadata, spec } = await running.record();
  const own = isOnEtcd ? [metadata["labels"], metadata["annotations"], spec] : [spec["containerID"], spec["ipNetworks"]];
  return [own, netns.link("eth0"), netns.addresses("eth0"), netns.routes(4), netns.routes(6), await world.node.addressesInUse()];
}

const changes: readonly [what: string, before: Annotations, after: Readonly<Record<string, string | null>>][] = [
  ["a MAC address", {}, { hwAddr: "02:00:5e:10:00:01" }],
  ["another MAC address", { hwAddr: "02:00:5e:10:00:01" }, { hwAddr: "02:00:5e:10:00:02" }],
  ["no MAC address any more", { hwAddr: "02:00:5e:10:00:01" }, { hwAddr: null }],
  ["other addresses", { ipAddrs: '["10.65.0.77"]' }, { ipAddrs: '["10.65.0.78", "fd65::78"]' }],
  ["a pool and a family", {}, { ipv4pools: '["blue"]', ipFamilies: '["IPv6"]' }],
  ["other addresses without IPAM", { ipAddrsNoIpam: '["192.0.2.7"]' }, { ipAddrsNoIpam: '["192.0.2.8", "2001:db8::8"]' }],
  ["none without IPAM any more", { ipAddrsNoIpam: '["192.0.2.7"]' }, { ipAddrsNoIpam: null }],
  ["one of a pool in its place", { ipAddrsNoIpam: '["192.0.2.7"]' }, { ipAddrsNoIpam: null, ipAddrs: '["10.65.0.79"]' }],
  ["one without IPAM", {}, { ipAddrsNoIpam: '["192.0.2.8"]' }],
  ["other floating addresses", { floatingIPs: '["192.0.2.9"]' }, { floatingIPs: '["192.0.2.10"]' }],
  ["floating addresses and source prefixes", {}, { floatingIPs: '["192.0.2.9"]', allowedSourcePrefixes: '["198.51.100.0/24"]' }],
];
test.each(changes)("when the pod asks for %s by now, it keeps what it has (needs cluster)", async (_what, before, after) => {
  await using running = await startPod(before);
  const shown = await shownOf(running);
  await annotate(running, after);
  for (let times = 0; times < 2; times++) {
    expect(await running.addAgain()).toEqual(running.result);
    expect(await shownOf(running)).toEqual(shown);
  }
});

onEtcd(() => {
  test("the record follows labels, which do reach a running pod (needs cluster)", async () => {
    await using running = await startPod({ allowedSourcePrefixes: '["198.51.100.0/24"]' });
    await world.api.kubectl(["label", "pod", running.pod.name, "app=web"]);
    expect(await running.addAgain()).toEqual(running.result);
    const { metadata, spec } = await running.record();
    expect(metadata["labels"]).toMatchObject({ app: "web" });
    expect(spec["allowSpoofedSourcePrefixes"]).toEqual(["198.51.100.0/24"]);
  });
});

describe("an interface that is gone is made anew", () => {
  test("with the address that is allocated, and with what is asked for now besides (needs cluster)", async () => {
    await using running = await startPod({ ipAddrs: '["10.65.0.77"]', hwAddr: "02:00:5e:10:00:01" });
    running.netns.must(["ip", "link", "delete", "eth0"]);
    await annotate(running, { ipAddrs: null, ipAddrsNoIpam: '["192.0.2.8"]', hwAddr: "02:00:5e:10:00:02", floatingIPs: '["192.0.2.9"]' });
    const again = await running.addAgain();
    expect(again.ips).toEqual(running.result.ips);
    expect(again.interfaces?.[1]?.mac).toBe("02:00:5e:10:00:02");
    expect(running.netns.link("eth0")?.address).toBe("02:00:5e:10:00:02");
    expect((await running.record()).spec["ipNATs"]).toEqual([{ internalIP: "10.65.0.77", externalIP: "192.0.2.9" }]);
    expect(await world.node.addressesInUse()).toBe(1);
  });

  test("with what is asked for now, when that is without IPAM and nothing is allocated (needs cluster)", async () => {
    await using running = await startPod({ ipAddrsNoIpam: '["192.0.2.7"]' });
    running.netns.must(["ip", "link", "delete", "eth0"]);
    await annotate(running, { ipAddrsNoIpam: '["192.0.2.8"]' });
    expect((await running.addAgain()).ips?.map(({ address }) => address)).toEqual(["192.0.2.8/32"]);
    expect((await running.record()).spec["ipNetworks"]).toEqual(["192.0.2.8/32"]);
  });
});

test("an address that somebody has released is no longer the pod's, whatever it asks for without IPAM (needs cluster)", async () => {
  await using running = await startPod({});
  await world.node.ctl(["ipam", "release", `--ip=${running.result.ips?.[0]?.address.replace("/32", "")}`]);
  await annotate(running, { ipAddrsNoIpam: '["192.0.2.8"]' });
  expect((await running.addAgain()).ips?.map(({ address }) => address)).toEqual(["192.0.2.8/32"]);
  expect(await world.node.addressesInUse()).toBe(0);
});

test("nor is it when its pool has gone meanwhile (needs cluster)", async () => {
  await world.node.createPool("green", { cidr: "10.67.0.0/24", assignmentMode: "Manual" });
  await using running = await startPod({ ipv4pools: '["green"]' });
  await world.node.ctl(["delete", "ippool", "green"]);
  await world.node.ctl(["ipam", "release", `--ip=${running.result.ips?.[0]?.address.replace("/32", "")}`]);
  await annotate(running, { ipv4pools: null });
  expect((await running.addAgain()).ips?.map(({ address }) => address)).toEqual([expect.stringMatching(/^10\.65\.0\.\d+\/32$/)]);
  expect(await world.node.addressesInUse()).toBe(1);
});

test("a value that has become malformed is code 104, and takes nothing from the pod (needs cluster)", async () => {
  await using running = await startPod({ ipAddrs: '["10.65.0.77"]' });
  const shown = await shownOf(running);
  await annotate(running, { ipAddrs: "10.65.0.77" });
  const reply = await world.node.call("ADD", running.call);
  expect([reply.status, reply.json?.code]).toEqual([1, 104]);
  expect(await shownOf(running)).toEqual(shown);
});
