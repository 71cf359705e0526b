import { describe, expect, test } from "bun:test";
import { failureOf } from "../../../test/support/failure-of.ts";
import { FaultyDatastore } from "../../../test/support/ipam/faulty-datastore.ts";
import { createIpamWorld, type IpamWorld, requestFor } from "../../../test/support/ipam/ipam.ts";
import type { AllocationOwner } from "../../api/ipam-block.ts";
import { parseAddress } from "../../lib/ip/address.ts";
import { parsePrefix } from "../../lib/ip/prefix.ts";
import { newBlock } from "../block.ts";
import { adoptAddress, giveBackAddress } from "./adopt.ts";

const ADDRESS = parseAddress("10.65.0.9");
const BLOCK = parsePrefix("10.65.0.0/26");
const C1: AllocationOwner = requestFor("c1", "n1").owner;

/** Ports of which the next commit has no reply. */
function losingReply(world: IpamWorld): IpamWorld["ports"] {
  const faulty = new FaultyDatastore(world.datastore);
  faulty.next = "applied, reply lost";
  return { ...world.ports, datastore: faulty.datastore, clock: { ...world.clock, sleep: async () => undefined } };
}

describe("adoptAddress()", () => {
  test("claims no block that overlaps another one, which would give its addresses again", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/24");
    await world.datastore.commit([{ op: "create-block", block: newBlock(parsePrefix("10.65.0.32/27"), "n2", 1) }]);
    expect(await adoptAddress(world.ports, C1, ADDRESS)).toEqual({ overlapped: "10.65.0.32/27" });
    expect(await world.blocks()).toEqual(["10.65.0.32/27 n2 0/32"]);
  });

  test("writes while the datastore is locked, but not while a migration goes on, which would lose it", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/24");
    await world.put("ClusterInformation", "default", { datastoreReady: false, datastoreFrozen: true });
    expect(await failureOf(adoptAddress(world.ports, C1, ADDRESS))).toMatchObject({ kind: "tryAgainLater" });
    expect(await world.blocks()).toEqual([]);
    await world.put("ClusterInformation", "default", { datastoreReady: false });
    expect(await adoptAddress(world.ports, C1, ADDRESS)).toEqual({ end: "adopted" });
    expect(await world.blocks()).toEqual(["10.65.0.0/26 n1 1/64"]);
  });

  test("allocates in a disabled pool: what it has given stays in use", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/24", { disabled: true });
    expect(await adoptAddress(world.ports, C1, ADDRESS)).toEqual({ end: "adopted" });
  });

  test("gives nothing to an attachment of the same name on another node", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/24");
    await adoptAddress(world.ports, C1, ADDRESS);
    expect(await adoptAddress(world.ports, { ...C1, node: "n2" }, ADDRESS)).toMatchObject({ holder: { owner: C1 } });
    expect(await adoptAddress(world.ports, C1, ADDRESS)).toEqual({ end: "had" });
    expect(await adoptAddress(world.ports, C1, parseAddress("10.65.0.10"))).toEqual({ end: "adopted" });
  });

  test("moves what the same attachment has under a wrong name, and nothing else, and says so where the reply was lost", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/24");
    const ghost = { ...C1, node: "ghost", endpoint: "e", namespace: "ns" };
    await adoptAddress(world.ports, ghost, ADDRESS);
    const held = { holder: { owner: ghost } };
    expect(await adoptAddress(world.ports, C1, ADDRESS, "n2")).toMatchObject(held);
    expect(await adoptAddress(world.ports, requestFor("c2", "n1").owner, ADDRESS, "ghost")).toMatchObject(held);
    expect(await adoptAddress(losingReply(world), C1, ADDRESS, "ghost")).toEqual({ end: "moved", block: BLOCK });
    const [[block]] = await world.datastore.read([{ type: "all-blocks" }]);
    expect(block?.value.allocations.map(({ owner }) => owner)).toEqual([{ ...ghost, node: "n1" }]);
    expect(await adoptAddress(world.ports, C1, ADDRESS, "ghost")).toEqual({ end: "had" });
  });

  test("moves the block of a wrong name with the last that is allocated under it there, or once that is released, and no other's", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/24");
    const [c1, c2] = [C1, requestFor("c2", "n1").owner].map((owner) => ({ ...owner, node: "ghost" })) as [AllocationOwner, AllocationOwner];
    await adoptAddress(world.ports, c1, ADDRESS);
    await adoptAddress(world.ports, c2, parseAddress("10.65.0.10"));
    expect(await adoptAddress(world.ports, C1, ADDRESS, "ghost")).toEqual({ end: "moved" });
    expect(await world.blocks()).toEqual(["10.65.0.0/26 ghost 2/64"]);
    await giveBackAddress(world.ports, c2, parseAddress("10.65.0.10"));
    for (const name of [undefined, "n1", "n2"]) expect(await adoptAddress(world.ports, C1, ADDRESS, name)).toEqual({ end: "had" });
    expect(await world.blocks()).toEqual(["10.65.0.0/26 ghost 1/64"]);
    expect(await adoptAddress(losingReply(world), C1, ADDRESS, "ghost")).toEqual({ end: "had", block: BLOCK });
    expect(await world.blocks()).toEqual(["10.65.0.0/26 n1 1/64"]);
    expect(await world.del("c1", "n1")).toEqual(["10.65.0.9"]);
  });

  test("takes a free address of a wrong name's block with it, unless that name has something there", async () => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/24");
    const ghost = { ...C1, node: "ghost" };
    await adoptAddress(world.ports, ghost, ADDRESS);
    const [c2, c3] = ["c2", "c3"].map((name) => requestFor(name, "n1").owner) as [AllocationOwner, AllocationOwner];
    expect(await adoptAddress(world.ports, c2, parseAddress("10.65.0.10"), "ghost")).toEqual({ end: "adopted" });
    await giveBackAddress(world.ports, ghost, ADDRESS);
    expect(await adoptAddress(losingReply(world), c3, parseAddress("10.65.0.11"), "ghost")).toEqual({ end: "adopted", block: BLOCK });
  });

  test("claims a block of the size that the pool gives, where another pool overlaps it and gives none", async () => {
    const world = await createIpamWorld();
    await world.putPool("0-elsewhere", "10.64.0.0/24", { blockSize: 30 }, "2026-01-01T00:00:00Z");
    await world.putPool("0-newer", "10.65.0.0/24", { blockSize: 29 }, "2026-01-03T00:00:00Z");
    await world.putPool("a", "10.65.0.0/24", { blockSize: 28 }, "2026-01-02T00:00:00Z");
    expect(await adoptAddress(world.ports, C1, ADDRESS)).toEqual({ end: "adopted" });
    expect(await world.blocks()).toEqual(["10.65.0.0/28 n1 1/16"]);
  });
});

test.each([requestFor("c2", "n1").owner, { ...C1, node: "n2" }])(
  "giveBackAddress() leaves an address that is somebody else's by then: %p",
  async (other) => {
    const world = await createIpamWorld();
    await world.putPool("a", "10.65.0.0/24");
    await adoptAddress(world.ports, other, ADDRESS);
    await giveBackAddress(world.ports, C1, ADDRESS);
    expect(await world.blocks()).toEqual([`10.65.0.0/26 ${other.node} 1/64`]);
    await giveBackAddress(world.ports, other, ADDRESS);
    expect(await world.blocks()).toEqual([`10.65.0.0/26 ${other.node} 0/64`]);
  },
);
