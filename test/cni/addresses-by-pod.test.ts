/** Addresses that the pods of one template ask for, each for its own, by the annotation `ipAddrsByPod`, on both datastores. */

import { beforeEach, expect } from "bun:test";
import { createPod, type TestPod } from "../support/servers/kubernetes.ts";
import { TestNetns } from "../support/node/netns.ts";
import { onApiServer } from "../support/servers/on-api-server.ts";
import { startPodWorld } from "../support/node/pod-world.ts";
import { AttachedPod } from "./support/attached-pod.ts";

const [test, world] = onApiServer(() => startPodWorld({ cidrs: ["10.65.0.0/24", "fd65::/112"], rights: ["pods", "namespaces"] }));
const { node } = world;
beforeEach(async () => expect(await node.addressesInUse()).toBe(0));

type Entries = Readonly<Record<string, readonly string[]>>;

async function makePod(name: string, entries: Entries, others: Readonly<Record<string, string>> = {}): Promise<TestPod> {
  return await createPod(world.api, { name, annotations: { ...others, ipAddrsByPod: JSON.stringify(entries) } });
}

test("each pod gets its own, whatever else asks for some, and one without any gets none (needs cluster)", async () => {
  const entries = { "db-1": ["10.65.0.17"], "db-0": ["fd65::16", "10.65.0.16"] };
  const config = world.config({ runtimeConfig: { ips: ["10.65.0.1"] }, args: { cni: { ips: ["10.65.0.2"] } } });
  const others = { ipv4pools: '["no-such-pool"]', ipFamilies: '["IPv6"]' };
  await using first = await AttachedPod.add(world, await makePod("db-0", entries, others), config);
  const { args, ...second } = await makePod("db-1", entries, others);
  await using other = await AttachedPod.add(world, { ...second, args: `${args};IP=10.65.0.3` }, config);
  expect([first.addresses, other.addresses]).toEqual([["fd65::16/128", "10.65.0.16/32"], ["10.65.0.17/32"]]);
  expect(other.netns.addresses("eth0")).toEqual(["10.65.0.17/32"]);
  expect((await first.check()).stdout).toBe("");

  using netns = new TestNetns();
  const third = await makePod("db-2", entries, others);
  const call = { containerID: node.newContainerID(), netns: netns.path, args: third.args, config };
  expect((await node.call("ADD", call)).json).toMatchObject({ code: 104, msg: expect.stringContaining('want an entry "db-2"') });
  expect((await node.call("DEL", call)).status).toBe(0);
  expect(await node.addressesInUse()).toBe(3);
});

test("a pod that runs keeps what it has when its entry is another, or gone, and a new one asks for that (needs cluster)", async () => {
  await using running = await AttachedPod.add(world, await makePod("kept-0", { "kept-0": ["10.65.0.20"] }));
  const change = async (entries: Entries): Promise<void> =>
    void (await world.api.kubectl(["annotate", "--overwrite", "pod", "kept-0", `cni.netplug.io/ipAddrsByPod=${JSON.stringify(entries)}`]));
  await change({ "kept-0": ["10.65.0.21"] });
  expect(await running.addAgain()).toEqual(running.result);
  expect((await running.check()).stdout).toBe("");

  running.netns.must(["ip", "link", "delete", "eth0"]);
  expect((await running.addAgain()).ips).toEqual(running.result.ips);
  await change({ "kept-1": ["10.65.0.21"] });
  const reply = await node.call("ADD", running.call);
  expect(reply.json).toMatchObject({ code: 104, msg: expect.stringContaining('want an entry "kept-0"') });
  expect(running.netns.addresses("eth0")).toEqual(["10.65.0.20/32"]);
  expect(await node.addressesInUse()).toBe(1);
});

test("there may be nearly as many as an annotation has room for (needs cluster)", async () => {
  const name = (at: number): string => `many-${at}`;
  const entries = Object.fromEntries(Array.from({ length: 7_000 }, (_, at) => [name(at), [`10.65.${at >> 8}.${at & 255}`]]));
  await using attached = await AttachedPod.add(world, await makePod(name(200), entries));
  expect(attached.addresses).toEqual(["10.65.0.200/32"]);
});
