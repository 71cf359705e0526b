import { describe, expect, test } from "bun:test";
import { failureOf } from "../../../test/support/failure-of.ts";
import { createIpamWorld, requestFor } from "../../../test/support/ipam/ipam.ts";
import type { AllocationOwner } from "../../api/ipam-block.ts";
import { parseAddress } from "../../lib/ip/address.ts";
import { parsePrefix } from "../../lib/ip/prefix.ts";
import { newBlock } from "../block.ts";
import { adoptAddress, giveBackAddress } from "./adopt.ts";

const ADDRESS = parseAddress("10.65.0.9");
const C1: AllocationOwner = requestFor("c1", "n1").owner;

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
