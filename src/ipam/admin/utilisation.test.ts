import { describe, expect, test } from "bun:test";
import { createIpamWorld } from "../../../test/support/ipam/ipam.ts";
import { parseAddress } from "../../lib/ip/address.ts";
import { parsePrefix, toPrefixText } from "../../lib/ip/prefix.ts";
import { readUtilisation } from "./utilisation.ts";

describe("readUtilisation()", () => {
  test("counts exactly, also in pools with more addresses than a double can tell apart", async () => {
    const world = await createIpamWorld();
    await world.putPool("z", "10.65.0.0/24");
    await world.putPool("b", "fd00:65::/48");
    await world.put("IPPool", "without-cidr", {});
    await world.put("IPReservation", "r", { reservedCIDRs: ["10.65.0.0/30", "10.65.0.2", "10.66.0.0/16", "fd00:65::/64"] });
    await world.add("c1", "n1", { families: [4, 6], addresses: [parseAddress("10.65.0.1"), parseAddress("fd00:65:0:9::1")] });
    await world.add("c2", "n2", { addresses: [parseAddress("10.65.0.9")] });
    const { pools, blocks, uncounted } = await readUtilisation(world.datastore, world.clock);
    expect(uncounted).toEqual([]);
    expect(pools).toEqual([
      { name: "z", cidr: parsePrefix("10.65.0.0/24"), total: 256n, inUse: 2n, reserved: 3n, free: 251n },
      { name: "b", cidr: parsePrefix("fd00:65::/48"), total: 2n ** 80n, inUse: 1n, reserved: 2n ** 64n, free: 2n ** 80n - 2n ** 64n - 1n },
    ]);
    expect(blocks.map(({ cidr, ...rest }) => ({ cidr: toPrefixText(cidr), ...rest }))).toEqual([
      { cidr: "10.65.0.0/26", node: "n1", total: 64, inUse: 2, borrowed: 1 },
      { cidr: "fd00:65:0:9::/122", node: "n1", total: 64, inUse: 1, borrowed: 0 },
    ]);
  });
});

test("readUtilisation() counts what lies in a pool of a block that reaches beyond it", async () => {
  const world = await createIpamWorld();
  await world.putPool("a", "10.65.0.0/24");
  for (const [name, address] of [
    ["c1", "10.65.0.3"],
    ["c2", "10.65.0.40"],
  ] as const)
    await world.add(name, "n1", { addresses: [parseAddress(address)] });
  await world.putPool("a", "10.65.0.0/27");
  expect((await readUtilisation(world.datastore, world.clock)).pools).toMatchObject([{ total: 32n, inUse: 1n, free: 31n }]);
});

test("readUtilisation() tells how many of a pool's free addresses cool down: not those taken again or reserved, nor when that is over", async () => {
  const world = await createIpamWorld();
  await world.putPool("a", "10.65.0.0/24");
  await world.putPool("b", "10.66.0.0/24");
  await world.configure({ ipCooldownSeconds: 60 });
  const last = ["10.65.0.1", "10.65.0.2", "10.65.0.3", "10.65.0.4"].map(parseAddress);
  for (const address of last) {
    await world.add("c1", "n1", { addresses: [address] });
    await world.del("c1", "n1");
  }
  await world.add("c2", "n1", { addresses: last.slice(0, 1) });
  await world.put("IPReservation", "r", { reservedCIDRs: ["10.65.0.2/32"] });
  const coolingDown = async (): Promise<unknown> => [...(await readUtilisation(world.datastore, world.clock)).coolingDown];
  expect(await coolingDown()).toEqual([["a", 2n]]);
  await world.clock.advance(62_000);
  expect(await coolingDown()).toEqual([]);
});
