import { describe, expect, test } from "bun:test";
import { FaultyDatastore } from "../../../test/support/ipam/faulty-datastore.ts";
import { failureOf } from "../../../test/support/failure-of.ts";
import { createIpamWorld } from "../../../test/support/ipam/ipam.ts";
import { parseAddress } from "../../lib/ip/address.ts";
import { parsePrefix } from "../../lib/ip/prefix.ts";
import { findOwner, releaseAddress } from "./owner.ts";

describe("findOwner() and releaseAddress()", () => {
  test("name whose an address is, and release it", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/24");
    const address = parseAddress("10.65.0.9");
    const neighbours = [parseAddress("10.65.0.8"), parseAddress("10.65.0.10")];
    for (const [i, one] of neighbours.entries()) await world.add(`neighbour-${i}`, "n1", { addresses: [one] });
    await world.add("c1", "n1", { addresses: [address] });
    expect(await findOwner(world.ports, address)).toMatchObject({ allocation: { owner: { containerID: "c1" } }, coolsUntil: undefined });
    expect(await releaseAddress(world.ports, address)).toMatchObject({ owner: { containerID: "c1", node: "n1" } });
    expect(await findOwner(world.ports, address)).toMatchObject({ allocation: undefined, block: { node: "n1" } });
    for (const [i, one] of neighbours.entries())
      expect(await findOwner(world.ports, one)).toMatchObject({ allocation: { owner: { containerID: `neighbour-${i}` } } });
    const [[block]] = await world.datastore.read([{ type: "all-blocks" }]);
    expect(await releaseAddress(world.ports, address)).toBeUndefined();
    expect((await world.datastore.read([{ type: "all-blocks" }]))[0][0]?.revision).toBe(block?.revision);
    expect(await findOwner(world.ports, parseAddress("fd00::1"))).toMatchObject({ allocation: undefined, block: undefined });
    expect(await releaseAddress(world.ports, parseAddress("fd00::1"))).toBeUndefined();
  });

  test("leave an address to cool down, and tell of it and of no other", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/24");
    await world.configure({ ipCooldownSeconds: 60 });
    const address = parseAddress("10.65.0.9");
    await world.add("c1", "n1", { addresses: [address] });
    await releaseAddress(world.ports, address);
    const [empty] = await world.datastore.read([{ type: "empty-blocks", within: parsePrefix("10.65.0.0/24"), limit: 1 }]);
    expect(empty.map(({ since }) => since - Math.floor(world.clock.now() / 1_000))).toEqual([61]);
    const coolsUntil = Math.floor(world.clock.now() / 1_000) + 60;
    expect(await findOwner(world.ports, address)).toMatchObject({ allocation: undefined, coolsUntil });
    for (const other of ["10.65.0.0", "10.65.0.8"])
      expect(await findOwner(world.ports, parseAddress(other))).toMatchObject({ allocation: undefined, coolsUntil: undefined });
  });

  test("name whose an address was also where the reply to its release was lost", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/24");
    const address = parseAddress("10.65.0.9");
    await world.add("c1", "n1", { addresses: [address] });
    const faulty = new FaultyDatastore(world.datastore);
    faulty.next = "applied, reply lost";
    const clock = { ...world.clock, sleep: async () => undefined };
    expect(await releaseAddress({ ...world.ports, clock, datastore: faulty.datastore }, address)).toMatchObject({
      owner: { containerID: "c1" },
    });
  });

  test("take nothing away while a migration goes on", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/24");
    const address = parseAddress("10.65.0.9");
    await world.add("c1", "n1", { addresses: [address] });
    await world.put("ClusterInformation", "default", { datastoreReady: false, datastoreFrozen: true });
    expect(await failureOf(releaseAddress(world.ports, address))).toMatchObject({ kind: "tryAgainLater" });
    await world.put("ClusterInformation", "default", { datastoreReady: false });
    expect(await releaseAddress(world.ports, address)).toMatchObject({ owner: { containerID: "c1" } });
  });
});
