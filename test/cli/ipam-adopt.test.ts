/** `ipam adopt` where something changes meanwhile; `test/cni/restored-datastore.test.ts` has it with real interfaces. */

import { beforeEach, expect, test } from "bun:test";
import type { HostAddress } from "../../src/cli/host-addresses.ts";
import { parseAddress } from "../../src/lib/ip/address.ts";
import { shareEtcdCliWorld } from "../support/cli/etcd-cli-world.ts";

const world = shareEtcdCliWorld();
beforeEach(async () => {
  await world.reset();
  await world.createPool("blue", "10.65.0.0/24");
});

const toHostAddress = (containerID: string, ip: string): HostAddress => ({
  attachment: { network: "test-net", containerID, ifName: "eth0" },
  address: parseAddress(ip),
  hostName: `npg-${containerID}`,
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
