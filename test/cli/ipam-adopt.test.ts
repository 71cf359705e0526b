/** `ipam adopt` where something changes meanwhile; `test/cni/restored-datastore.test.ts` has it with real interfaces. */

import { beforeEach, expect, test } from "bun:test";
import type { HostAddress } from "../../src/cli/host-addresses.ts";
import type { Datastore } from "../../src/datastore/datastore.ts";
import { parseAddress } from "../../src/lib/ip/address.ts";
import { endpointYaml } from "../support/cli/documents.ts";
import { shareEtcdCliWorld } from "../support/cli/etcd-cli-world.ts";
import { FaultyDatastore } from "../support/faulty-datastore.ts";

const world = shareEtcdCliWorld();
beforeEach(async () => {
  await world.reset();
  await world.createPool("blue", "10.65.0.0/24");
});

const toHostAddress = (containerID: string, ip: string): HostAddress => ({
  attachment: { network: "test-net", containerID, ifName: "eth0" },
  address: parseAddress(ip),
  where: `npg-${containerID}`,
});

const inUse = async (): Promise<readonly boolean[]> => {
  const shown = ["10.65.0.1", "10.65.0.2"].map(async (ip) => JSON.parse(await world.done(["ipam", "show", `--ip=${ip}`, "-o", "json"])));
  return ((await Promise.all(shown)) as readonly { readonly inUse: boolean }[]).map((one) => one.inUse);
};

test("an address is released again when its interface ends meanwhile: its DEL may have found nothing", async () => {
  const looks = [[toHostAddress("c1", "10.65.0.1"), toHostAddress("c2", "10.65.0.2")], [toHostAddress("c2", "10.65.0.2")]];
  const { status, stdout } = await world.ctl(["ipam", "adopt", "--node=n1"], { hostAddresses: () => looks.shift() ?? [] });
  expect([status, stdout.trimEnd().split("\n").slice(2)]).toEqual([
    0,
    ["10.65.0.1 released again: its interface is gone", "allocated 1 of 2 addresses in use on this host, 0 were"],
  ]);
  expect(await inUse()).toEqual([false, true]);
});

test("so is one whose allocation had no reply", async () => {
  const lossy = (datastore: Datastore): Datastore => {
    const faulty = new FaultyDatastore(datastore);
    faulty.next = "applied, reply lost";
    return faulty.datastore;
  };
  const looks = [[toHostAddress("c1", "10.65.0.1")], []];
  const { status, stdout } = await world.ctl(["ipam", "adopt", "--node=n1"], { hostAddresses: () => looks.shift() ?? [], instead: lossy });
  expect([status, stdout.trimEnd().split("\n").slice(1)]).toEqual([
    0,
    ["10.65.0.1 released again: its interface is gone", "allocated 0 of 1 addresses in use on this host, 0 were"],
  ]);
  expect(await inUse()).toEqual([false, false]);
});

test("a node whose addresses have another one's name is not taken for it", async () => {
  const adopt = async (node: string, ...ips: readonly string[]): ReturnType<typeof world.ctl> =>
    await world.ctl(["ipam", "adopt", `--node=${node}`], { hostAddresses: () => ips.map((ip) => toHostAddress("c1", ip)) });
  expect((await adopt("n1", "10.65.0.1")).status).toBe(0);
  const { status, stdout, stderr } = await adopt("m1", "10.65.0.2", "10.65.0.1");
  expect([status, stdout]).toEqual([1, ""]);
  expect(stderr).toContain('allocate addresses to node "m1": this host was node "n1" when it got 10.65.0.1\n');
  expect(stderr).toContain("next: netplugctl ipam adopt --node=n1\n");
  expect(await inUse()).toEqual([true, false]);
  expect((await adopt("n1", "10.65.0.2", "10.65.0.1")).stdout).toContain("allocated 1 of 2 addresses in use on this host, 1 were\n");
});

test("addresses of no pool that a delegate gave are left to it", async () => {
  const record = endpointYaml({ containerID: "c1", node: "n1", ipNetworks: ["10.70.0.1/32"] });
  await world.create(record.replace('"metadata":{', '"metadata":{"annotations":{"netplug.io/ipam":"host-local"},'));
  const found = ["10.70.0.1", "10.65.0.1"].map((ip) => toHostAddress("c1", ip));
  const { status, stdout } = await world.ctl(["ipam", "adopt", "--node=n1"], { hostAddresses: () => found });
  expect([status, stdout.trimEnd().split("\n").at(-1)]).toEqual([0, "allocated 1 of 1 addresses in use on this host, 0 were"]);
});
