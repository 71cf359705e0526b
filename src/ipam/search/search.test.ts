import { describe, expect, test } from "bun:test";
import { failureOf } from "../../../test/support/failure-of.ts";
import { createIpamWorld, type IpamWorld, NETWORK, requestFor } from "../../../test/support/ipam/ipam.ts";
import type { Allocation, Block } from "../../api/ipam-block.ts";
import type { Datastore, Query } from "../../datastore/datastore.ts";
import { inFrontOf } from "../../datastore/in-front-of.ts";
import { MemoryDatastore } from "../../datastore/memory/memory-datastore.ts";
import { parsePrefix, subnetAt } from "../../lib/ip/prefix.ts";
import { allocate } from "../allocate.ts";

/** What was asked of the datastore. */
interface Reads {
  rounds: number;
  /** Records of blocks. */
  blocks: number;
}

/** A datastore that counts what is read of it. */
function counting(inner: Datastore): { readonly datastore: Datastore; readonly reads: Reads } {
  const reads: Reads = { rounds: 0, blocks: 0 };
  const datastore = inFrontOf(inner, {
    read: async (queries, options) => {
      reads.rounds++;
      reads.blocks += queries.filter(({ type }: Query) => type === "block").length;
      if (queries.some(({ type }: Query) => type === "all-blocks")) throw new Error("read every block");
      return await inner.read(queries, options);
    },
  });
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

test("what cools down, or is reserved, in some blocks does not hide what others have", async () => {
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

describe("256 empty blocks of other nodes, and a cool-down that was made longer since they became empty", () => {
  /** The first `coolingDown` were left a moment ago, the others long since; what is listed counts from the cool-down of then. */
  async function createEmpty(coolingDown: number, strictAffinity: boolean) {
    const made = await createWorld();
    await made.world.putPool("a", "10.65.0.0/16", { blockSize: 24 });
    const now = Math.floor(made.world.clock.now() / 1000);
    const free = Array.from({ length: 256 }, (_, i) => i);
    await fill(
      made.inner,
      Array.from({ length: 256 }, (_, i): Block => {
        const releasedAt = i < coolingDown ? now - 10 : now - 5_000;
        const times = new Map(free.map((ordinal) => [ordinal, releasedAt]));
        return { ...blockOf("10.65.0.0/16", 0, 0), cidr: emptyAt(i), allocations: [], free, releasedAt: times, emptySince: releasedAt };
      }),
    );
    await made.world.configure({ strictAffinity, ipCooldownSeconds: 300 });
    return made;
  }
  const emptyAt = (index: number) => subnetAt(parsePrefix("10.65.0.0/16"), 24, index);

  test("one that has cooled down is found behind those that have not, of which it reads more at once with each", async () => {
    const { world, reads } = await createEmpty(250, true);
    const cost = await readsOf(reads, async () =>
      expect(await world.add("c", "late")).toEqual([expect.stringMatching(/^10\.65\.25[0-5]\.0$/)]),
    );
    expect(cost.rounds).toBeLessThanOrEqual(14);
  });

  test("where all of them rest, that is why nothing is left", async () => {
    const { world, reads } = await createEmpty(256, true);
    const cost = await readsOf(reads, async () => {
      expect(await failureOf(world.add("c", "late"))).toMatchObject({
        kind: "noAddressLeft",
        message: expect.stringContaining("none of its 256 blocks is free (256 of them are empty, but cool down after the last release)"),
      });
    });
    expect(cost.rounds).toBeLessThanOrEqual(20);
    await world.clock.advance(300_000);
    expect(await world.add("c", "late")).toHaveLength(1);
  });

  test("nodes do not all begin at the same one, for which they would race", async () => {
    const found = ["n-a", "n-b", "n-c", "n-d"].map(async (node) => await (await createEmpty(0, true)).world.add("c", node));
    expect(new Set((await Promise.all(found)).flat()).size).toBeGreaterThan(1);
  });

  test("where a node may borrow it does not read more than the first of them", async () => {
    const { world, reads } = await createEmpty(250, false);
    const cost = await readsOf(reads, async () =>
      expect(await world.add("c", "late")).toEqual([expect.stringMatching(/^10\.65\.25[0-5]\.0$/)]),
    );
    expect(cost.blocks).toBeLessThanOrEqual(80);
  });
});

test("what cools down in a node's own blocks is told where strictAffinity forbids to look elsewhere, or no block may be claimed", async () => {
  const { world } = await createWorld();
  await world.putPool("a", "10.65.0.0/30", { blockSize: 31 });
  await world.configure({ ipCooldownSeconds: 60, strictAffinity: true, maxBlocksPerHost: 1 });
  await world.add("c1", "n1");
  await world.add("c2", "n1");
  await world.del("c1", "n1");
  const coolingDown = "at least 1 of their addresses cool down after their release";
  expect(await failureOf(world.add("c3", "n1"))).toMatchObject({ message: expect.stringContaining(`own blocks (${coolingDown}), node`) });
  await world.configure({ ipCooldownSeconds: 60, maxBlocksPerHost: 1 });
  expect(await failureOf(world.add("c3", "n1"))).toMatchObject({
    message: expect.stringContaining("any claimed block (at least 1 of the pool's addresses cool down after their release), and node"),
  });
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

test.each([
  ["10.0.0.0/8", {}, 4],
  ["fd65::/48", { blockSize: 122 }, 6],
] as const)("after a lost race a node looks elsewhere in %p, and reads once for it", async (cidr, spec, family) => {
  const { world, reads } = await createWorld();
  await world.putPool("a", cidr, spec);
  const { datastore } = world;
  let lost = 0;
  const commit: Datastore["commit"] = async (writes, options) => {
    if (lost++ < 2) return { committed: false, current: await datastore.read(options?.readOnConflict ?? ([] as never)) };
    return await datastore.commit(writes, options);
  };
  const ports = { ...world.ports, datastore: { ...datastore, commit } };
  const cost = await readsOf(reads, async () => {
    expect(await allocate(ports, requestFor("c", "n1", { families: [family] }))).toHaveLength(1);
  });
  expect(cost.rounds).toBe(6); // what is certain, and where a block may lie, for each of three tries
});

test("a request that names no pool and meets none says so without reading on", async () => {
  const { world, reads } = await createWorld();
  const cost = await readsOf(reads, async () => {
    expect(await failureOf(world.add("c", "n1", { families: requestFor("c", "n1").families }))).toMatchObject({ kind: "noAddressLeft" });
  });
  expect(cost).toEqual({ rounds: 1, blocks: 0 });
});
