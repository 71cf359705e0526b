import { expect, test } from "bun:test";
import { createIpamWorld, failureOf, type IpamWorld, NETWORK, requestFor } from "../../test/support/ipam.ts";
import type { Allocation, Block } from "../api/ipam-block.ts";
import type { Datastore, Query } from "../datastore/datastore.ts";
import { MemoryDatastore } from "../datastore/memory/memory-datastore.ts";
import { parsePrefix, subnetAt } from "../lib/ip/prefix.ts";

/** What was asked of the datastore. */
interface Reads {
  rounds: number;
  /** Records of blocks. */
  blocks: number;
}

/** A datastore that counts what is read of it. */
function counting(inner: Datastore): { readonly datastore: Datastore; readonly reads: Reads } {
  const reads: Reads = { rounds: 0, blocks: 0 };
  const datastore: Datastore = {
    type: inner.type,
    requests: inner.requests,
    read: async (queries, options) => {
      reads.rounds++;
      reads.blocks += queries.filter(({ type }: Query) => type === "block").length;
      if (queries.some(({ type }: Query) => type === "all-blocks")) throw new Error("read every block");
      return await inner.read(queries, options);
    },
    commit: async (writes, options) => await inner.commit(writes, options),
    watch: (options) => inner.watch(options),
    close: () => inner.close(),
  };
  return { datastore, reads };
}

/** A block of 64 of which the first `free` addresses were released at that second, and the others are given. */
function blockOf(cidr: string, index: number, free: number, releasedAt = 1): Block {
  const ordinals = Array.from({ length: free }, (_, i) => i);
  return {
    cidr: subnetAt(parsePrefix(cidr), 26, index),
    node: `n${index % 500}`,
    allocations: GIVEN.slice(free),
    free: ordinals,
    releasedAt: new Map(ordinals.map((ordinal) => [ordinal, releasedAt])),
    emptySince: undefined,
  };
}

const GIVEN = Array.from({ length: 64 }, (_, ordinal): Allocation => {
  return { ordinal, owner: { network: NETWORK, containerID: `c${ordinal}`, ifName: "eth0", node: "n" }, since: 1 };
});

async function fill(datastore: Datastore, blocks: readonly Block[]): Promise<void> {
  for (const block of blocks) await datastore.commit([{ op: "create-block", block }]);
}

async function createWorld(): Promise<{ readonly world: IpamWorld; readonly inner: Datastore; readonly reads: Reads }> {
  const inner = new MemoryDatastore();
  const { datastore, reads } = counting(inner);
  return { world: await createIpamWorld(datastore), inner, reads };
}

async function readsOf(reads: Reads, act: () => Promise<unknown>): Promise<Reads> {
  const before = { ...reads };
  await act();
  return { rounds: reads.rounds - before.rounds, blocks: reads.blocks - before.blocks };
}

test("the one address that is left among 10 240 blocks is found by reading one of them", async () => {
  const { world, inner, reads } = await createWorld();
  await world.putPool("a", "10.64.0.0/13");
  await world.putPool("b", "10.72.0.0/15");
  await fill(
    inner,
    Array.from({ length: 10_240 }, (_, i) =>
      i < 8_192 ? blockOf("10.64.0.0/13", i, i === 7_000 ? 1 : 0) : blockOf("10.72.0.0/15", i - 8_192, 0),
    ),
  );
  const cost = await readsOf(reads, async () => expect(await world.add("c", "late")).toEqual(["10.70.214.0"]));
  expect(cost.blocks).toBeLessThanOrEqual(1);
  expect(cost.rounds).toBeLessThanOrEqual(6);
});

test.each([
  ["reserved", { reserved: true, cooldown: 0, left: 1 }, "are in use or reserved"],
  ["cooling down", { reserved: false, cooldown: 1_200, left: 12 }, "or cool down after their release"],
])("blocks in which all that is left is %s are not read", async (_, { reserved, cooldown, left }, why) => {
  const { world, inner, reads } = await createWorld();
  await world.putPool("a", "10.65.0.0/16");
  await world.configure({ ipCooldownSeconds: cooldown });
  if (reserved)
    await world.put("IPReservation", "r", { reservedCIDRs: Array.from({ length: 1024 }, (__, i) => `10.65.${i >> 2}.${(i & 3) * 64}`) });
  const now = Math.floor(world.clock.now() / 1000);
  await fill(
    inner,
    Array.from({ length: 1024 }, (__, i) => blockOf("10.65.0.0/16", i, left, now - 1)),
  );
  const cost = await readsOf(reads, async () => {
    expect(await failureOf(world.add("c", "late"))).toMatchObject({ kind: "noAddressLeft", message: expect.stringContaining(why) });
  });
  expect(cost.blocks).toBe(0);
  expect(cost.rounds).toBeLessThanOrEqual(12);
});

test("what rests, or is reserved, in some blocks does not hide what others have", async () => {
  const { world, inner } = await createWorld();
  await world.putPool("a", "10.65.0.0/16");
  await world.configure({ ipCooldownSeconds: 1_200 });
  await world.put("IPReservation", "r", { reservedCIDRs: ["10.65.128.0/29", "10.65.200.0/28"] });
  const now = Math.floor(world.clock.now() / 1000);
  const givable = new Map([
    [512, blockOf("10.65.0.0/16", 512, 9, now - 5_000)], // eight of the nine are reserved, and no more are listed
    [800, blockOf("10.65.0.0/16", 800, 16, now - 5_000)], // all of them reserved
  ]);
  await fill(
    inner,
    Array.from({ length: 1024 }, (_, i) => givable.get(i) ?? blockOf("10.65.0.0/16", i, 3, now)),
  );
  expect(await world.add("c", "late")).toEqual(["10.65.128.8"]);
  expect(await failureOf(world.add("d", "later"))).toMatchObject({ kind: "noAddressLeft" });
});

test("250 full pools are searched with a few rounds, and the one behind them is found with fewer", async () => {
  const { world, inner, reads } = await createWorld();
  for (let i = 0; i < 250; i++) {
    await world.putPool(`p${String(i).padStart(3, "0")}`, `10.65.${i}.0/24`);
    await fill(
      inner,
      [0, 1, 2, 3].map((at) => blockOf(`10.65.${i}.0/24`, at, 0)),
    );
  }
  const all = await readsOf(reads, async () => expect(await failureOf(world.add("c", "late"))).toMatchObject({ kind: "noAddressLeft" }));
  expect(all.rounds).toBeLessThanOrEqual(20);
  await world.putPool("zz", "10.66.0.0/24");
  const found = await readsOf(reads, async () => expect(await world.add("c", "late")).toEqual([expect.stringMatching(/^10\.66\.0\./)]));
  expect(found.rounds).toBeLessThanOrEqual(8);
});

test("a request that names no pool and meets none says so without reading on", async () => {
  const { world, reads } = await createWorld();
  const cost = await readsOf(reads, async () => {
    expect(await failureOf(world.add("c", "n1", { families: requestFor("c", "n1").families }))).toMatchObject({ kind: "noAddressLeft" });
  });
  expect(cost).toEqual({ rounds: 1, blocks: 0 });
});
