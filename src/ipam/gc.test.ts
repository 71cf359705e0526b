import { describe, expect, test } from "bun:test";
import { failureOf } from "../../test/support/failure-of.ts";
import { createIpamWorld, idOf, type IpamWorld, NETWORK, requestFor } from "../../test/support/ipam/ipam.ts";
import { changedBefore } from "../../test/support/ipam/faulty-datastore.ts";
import { releaseAttachment, releaseStale } from "../../test/support/ipam/ipam-operations.ts";
import type { Write } from "../datastore/datastore.ts";
import { toAddressText } from "../lib/ip/address.ts";
import { toPrefixText } from "../lib/ip/prefix.ts";
import { deleteEmptyBlocks, EMPTY_BLOCK_SECONDS, findStaleOwners } from "./gc.ts";
import { allocate } from "./allocate.ts";

async function createWorld(): Promise<IpamWorld> {
  const world = await createIpamWorld();
  await world.putPool("a", "10.65.0.0/30", { blockSize: 31 });
  return world;
}

const scope = (...valid: string[]) => ({
  node: "n1",
  network: NETWORK,
  valid: valid.map((containerID) => ({ containerID, ifName: "eth0" })),
});

describe("findStaleOwners()", () => {
  test("finds what belongs to no valid attachment, borrowed addresses included, until it is released", async () => {
    const world = await createWorld();
    await world.add("c1", "n1");
    await world.add("c2", "n1");
    await world.add("d1", "n2");
    const borrowed = await world.add("c3", "n1");
    expect((await findStaleOwners(world.ports, scope("c1"))).map(({ containerID }) => containerID).sort()).toEqual(["c2", "c3"]);
    const released = await releaseStale(world.ports, scope("c1"));
    expect(released.map(({ owner }) => owner.containerID).sort()).toEqual(["c2", "c3"]);
    expect(released.map(({ address }) => toAddressText(address))).toContain(borrowed[0] ?? "");
    expect(await findStaleOwners(world.ports, scope("c1"))).toEqual([]);
  });

  test("finds no other node's attachments, and no other network's", async () => {
    const world = await createWorld();
    await world.add("c1", "n1");
    const other = requestFor("c2", "n1");
    await allocate(world.ports, { ...other, owner: { ...other.owner, network: "storage" } });
    await world.add("d1", "n2");
    await world.add("d2", "n2");
    await world.del("c1", "n1");
    await world.add("d3", "n2"); // in a block of n1
    expect(await findStaleOwners(world.ports, scope())).toEqual([]);
  });
});

test("a release of addresses in more blocks than one commit changes says each time whether there are more", async () => {
  const world = await createIpamWorld();
  await world.putPool("a", "10.65.0.0/24", { blockSize: 32 });
  await world.configure({ maxBlocksPerHost: 100 });
  for (let i = 0; i < 40; i++) await world.add(`c${i}`, "n1");
  const changed: number[] = [];
  const count = async (writes: readonly Write[]): Promise<unknown> => changed.push(writes.filter(({ op }) => op === "update-block").length);
  const datastore = changedBefore(world.datastore, "update-block", count, Infinity);
  expect(await releaseStale({ ...world.ports, datastore }, scope("c7"))).toHaveLength(39);
  expect(changed).toEqual([16, 16, 7]);
  expect((await world.blocks()).filter((text) => text.endsWith("1/1"))).toHaveLength(1);
});

describe("deleteEmptyBlocks()", () => {
  test("deletes the node's blocks that have been empty for five minutes, and none before", async () => {
    const world = await createWorld();
    await world.add("c1", "n1");
    await world.add("d1", "n2");
    await world.del("c1", "n1");
    await world.del("d1", "n2");
    await world.clock.advance((EMPTY_BLOCK_SECONDS - 1) * 1000);
    expect(await deleteEmptyBlocks(world.ports, "n1")).toEqual([]);
    await world.clock.advance(1000);
    expect((await deleteEmptyBlocks(world.ports, "n1")).map(toPrefixText)).toHaveLength(1);
    expect(await world.blocks()).toEqual([expect.stringContaining(" n2 0/2")]);
  });

  test("keeps a block in which an address cools down, and counts the five minutes from its end", async () => {
    const world = await createWorld();
    await world.configure({ ipCooldownSeconds: 600 });
    await world.add("c1", "n1");
    await world.del("c1", "n1");
    await world.clock.advance((600 + EMPTY_BLOCK_SECONDS) * 1000);
    expect(await deleteEmptyBlocks(world.ports, "n1")).toEqual([]);
    await world.clock.advance(1000);
    expect(await deleteEmptyBlocks(world.ports, "n1")).toHaveLength(1);
  });

  test("counts a cool-down that nobody can want, written by hand, as none", async () => {
    const world = await createWorld();
    await world.add("c1", "n1");
    await world.configure({ ipCooldownSeconds: 5_000 });
    await world.del("c1", "n1");
    await world.clock.advance((EMPTY_BLOCK_SECONDS + 1) * 1000);
    expect(await deleteEmptyBlocks(world.ports, "n1")).toHaveLength(1);
  });

  test("writes nothing while a migration has frozen the datastore", async () => {
    const world = await createWorld();
    await world.add("c1", "n1");
    await world.del("c1", "n1");
    await world.clock.advance(EMPTY_BLOCK_SECONDS * 1000);
    await world.put("ClusterInformation", "default", { datastoreReady: true, datastoreFrozen: true });
    expect(deleteEmptyBlocks(world.ports, "n1")).rejects.toMatchObject({ kind: "tryAgainLater" });
    expect(await world.blocks()).toHaveLength(1);
  });
});

describe("a block that a node with a wrong clock left empty, years ahead", () => {
  async function leaveEmpty(world: IpamWorld, aheadMs: number): Promise<void> {
    await world.add("c1", "n1");
    const wrong = { ...world.clock, now: () => world.clock.now() + aheadMs };
    await releaseAttachment({ ...world.ports, clock: wrong }, idOf("c1"), "n1");
  }
  const YEARS_MS = 10 * 365 * 86_400_000;

  test("is taken over by a node that needs one", async () => {
    const world = await createWorld();
    await world.configure({ strictAffinity: true });
    await leaveEmpty(world, YEARS_MS);
    for (const container of ["d1", "d2", "d3"]) await world.add(container, "n2");
    expect(await world.blocks()).toEqual([expect.stringContaining(" n2 "), expect.stringContaining(" n2 ")]);
  });

  test("is deleted by a GC", async () => {
    const world = await createWorld();
    await leaveEmpty(world, YEARS_MS);
    expect(await deleteEmptyBlocks(world.ports, "n1")).toHaveLength(1);
  });

  test("keeps its addresses for as long as they must cool down by what it says", async () => {
    const world = await createWorld();
    await world.configure({ ipCooldownSeconds: 60, strictAffinity: true });
    await leaveEmpty(world, YEARS_MS);
    for (const container of ["d1", "d2"]) await world.add(container, "n2");
    expect(await failureOf(world.add("d3", "n2"))).toMatchObject({ kind: "noAddressLeft" });
    expect(await deleteEmptyBlocks(world.ports, "n1")).toEqual([]);
  });

  test("is not empty yet where clocks differ by minutes", async () => {
    const world = await createWorld();
    await leaveEmpty(world, 30 * 60_000);
    expect(await deleteEmptyBlocks(world.ports, "n1")).toEqual([]);
  });
});
