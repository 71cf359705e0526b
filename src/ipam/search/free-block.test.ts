import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import ipaddr from "ipaddr.js";
import { testSeed } from "../../../test/support/seed.ts";
import { withPoolDefaults } from "../../api/ip-pool.ts";
import type { Block } from "../../api/ipam-block.ts";
import type { Query, Revision } from "../../datastore/datastore.ts";
import { MemoryDatastore } from "../../datastore/memory/memory-datastore.ts";
import { prefixSetOf } from "../../lib/ip/prefix-set.ts";
import { parsePrefix, type Prefix, subnetAt, subnetCount, toPrefixText } from "../../lib/ip/prefix.ts";
import { newBlock } from "../block.ts";
import { collectWanted, type Facts, toFacts } from "../facts.ts";
import type { Pool } from "../pools.ts";
import { findFreeBlock } from "./free-block.ts";

const seed = testSeed();

function poolOf(cidr: string, blockLength: number): Pool {
  const spec = withPoolDefaults({ cidr, blockSize: blockLength });
  return { name: "p", cidr: parsePrefix(cidr), blockLength, spec, revision: "1" as Revision, unusable: undefined };
}

/** Asks until it has an answer, and counts how often it asked. */
async function find(
  datastore: MemoryDatastore,
  pool: Pool,
  { reserved = [] as readonly Prefix[], taken = new Set<string>(), spread = 0n } = {},
): Promise<{ readonly found: string | undefined; readonly reads: number }> {
  let facts: Facts = toFacts([], []);
  for (let reads = 0; ; reads++) {
    const known = facts;
    const decision = collectWanted(() => findFreeBlock(pool, { facts: known, reserved: prefixSetOf(reserved), taken, spread }));
    if ("decided" in decision) return { found: decision.decided === undefined ? undefined : toPrefixText(decision.decided), reads };
    facts = toFacts(decision.wanted, await datastore.read(decision.wanted), facts);
  }
}

async function claim(datastore: MemoryDatastore, cidrs: readonly Prefix[]): Promise<void> {
  for (const cidr of cidrs) {
    const block: Block = { ...newBlock(cidr, "n1", 1), free: [0], releasedAt: new Map() };
    await datastore.commit([{ op: "create-block", block }]);
  }
}

/** First and last address as numbers, by another library. */
function rangeOf(prefix: Prefix): readonly [first: number, last: number] {
  const [address, length] = ipaddr.parseCIDR(toPrefixText(prefix));
  const first = address.toByteArray().reduce((sum, byte) => sum * 256 + byte, 0);
  return [first, first + 2 ** (32 - length) - 1];
}

type Range = ReturnType<typeof rangeOf>;

function isApart([firstA, lastA]: Range, [firstB, lastB]: Range): boolean {
  return lastA < firstB || lastB < firstA;
}

/** Whether every address of a slot is in one of the ranges: each by itself. */
function isCovered([first, last]: Range, ranges: readonly Range[]): boolean {
  for (let address = first; address <= last; address++)
    if (!ranges.some((range) => range[0] <= address && address <= range[1])) return false;
  return true;
}

test("finds a slot that is neither claimed nor reserved nor taken exactly when there is one", async () => {
  const blocks = (lengths: readonly number[]) =>
    fc.array(
      fc.record({ length: fc.constantFrom(...lengths), at: fc.nat(2 ** 12) }).map(({ length, at }) => {
        const within = parsePrefix("10.65.0.0/19"); // twice the pool: what lies outside, and around, must not confuse
        return subnetAt(within, length, BigInt(at) % subnetCount(within, length));
      }),
      { maxLength: 200, size: "max" },
    );
  await fc.assert(
    fc.asyncProperty(
      fc.oneof({ weight: 3, arbitrary: blocks([28]) }, { weight: 1, arbitrary: blocks([20, 24, 26, 27, 28, 29, 30]) }),
      fc.oneof({ weight: 1, arbitrary: fc.constant([]) }, { weight: 2, arbitrary: blocks([21, 23, 26, 28, 30]) }),
      fc.bigInt({ min: 0n, max: 2n ** 64n }),
      fc.boolean(),
      async (wanted, reserved, spread, isNearlyFull) => {
        const datastore = new MemoryDatastore();
        const pool = poolOf("10.65.16.0/20", 28);
        const slots = Array.from({ length: 256 }, (_, i) => subnetAt(pool.cidr, 28, i));
        const more = isNearlyFull ? slots.filter((_, i) => BigInt(i) !== spread % 256n) : [];
        const claimed = new Map<Prefix, Range>();
        for (const cidr of [...wanted, ...more]) {
          const range = rangeOf(cidr);
          if ([...claimed.values()].every((other) => isApart(other, range))) claimed.set(cidr, range);
        }
        await claim(datastore, [...claimed.keys()]);
        const reservedRanges = reserved.map(rangeOf);
        const free = slots.filter((slot) => {
          const range = rangeOf(slot);
          return [...claimed.values()].every((other) => isApart(other, range)) && !isCovered(range, reservedRanges);
        });
        const taken = new Set(free.slice(0, 1).map(toPrefixText));
        const left = free.slice(1).map(toPrefixText);
        const { found } = await find(datastore, pool, { reserved, taken, spread });
        if (left.length === 0) expect(found).toBeUndefined();
        else expect(left).toContain(found ?? "nothing");
      },
    ),
    { seed, numRuns: 100 },
  );
}, 60_000);

test.each([
  ["10.65.0.0/16", 26, 2],
  ["10.64.0.0/12", 28, 6],
])("the one slot that is left in %p with /%p blocks is found with few reads", async (cidr, length, most) => {
  const pool = poolOf(cidr, length);
  const slots = Number(subnetCount(pool.cidr, length));
  const datastore = new MemoryDatastore();
  const gap = Math.floor(slots * 0.7);
  const count = Math.min(slots, 2_000); // of a large pool only the part around the gap is claimed, and the rest reserved
  const first = Math.max(0, gap - count / 2);
  await claim(
    datastore,
    Array.from({ length: count }, (_, i) => first + i)
      .filter((i) => i !== gap && i < slots)
      .map((i) => subnetAt(pool.cidr, length, i)),
  );
  const reserved = Array.from({ length: slots }, (_, i) => i)
    .filter((i) => i < first || i >= first + count)
    .map((i) => subnetAt(pool.cidr, length, i));
  const { found, reads } = await find(datastore, pool, { reserved, spread: 7n });
  expect(found).toBe(toPrefixText(subnetAt(pool.cidr, length, gap)));
  expect(reads).toBeLessThanOrEqual(most + 1);
});

describe("smaller blocks, from before the pool was made anew, do not hide what is free", () => {
  test("where a part of few slots holds very many of them", async () => {
    const pool = poolOf("10.65.0.0/20", 26);
    const datastore = new MemoryDatastore();
    const small = Array.from({ length: 47 * 64 }, (_, i) => subnetAt(pool.cidr, 32, i));
    await claim(datastore, small);
    for (const spread of [0n, 3n, 46n]) {
      const { found } = await find(datastore, pool, { spread });
      expect(found).toMatch(/^10\.65\.1[1-5]\./);
    }
  });

  test("where one slot holds more of them than can be listed", async () => {
    const pool = poolOf("10.65.0.0/19", 20);
    const datastore = new MemoryDatastore();
    await claim(
      datastore,
      Array.from({ length: 2_200 }, (_, i) => subnetAt(pool.cidr, 32, i)),
    );
    expect((await find(datastore, pool)).found).toBe("10.65.16.0/20");
  });

  test("where the claims that a node sees around its start are of the right size, and all together as many as slots or more", async () => {
    const pool = poolOf("10.65.0.0/16", 26);
    const slots = Array.from({ length: 1024 }, (_, i) => subnetAt(pool.cidr, 26, i));
    for (const small of [63, 64]) {
      const datastore = new MemoryDatastore();
      await claim(datastore, [
        ...slots.slice(0, 1000),
        ...Array.from({ length: small }, (_, i) => subnetAt(parsePrefix("10.65.255.192/26"), 32, i)),
      ]);
      expect((await find(datastore, pool, { spread: 5n })).found).toMatch(/^10\.65\.25[0-5]\./);
    }
  });
});

test("a large IPv6 pool of which most is reserved needs no deep search", async () => {
  const reserved = ["fd00:0:0:8000::/49", "fd00::/50"].map(parsePrefix);
  for (let spread = 0n; spread < 64n; spread++) {
    const datastore = new MemoryDatastore();
    const { found, reads } = await find(datastore, poolOf("fd00::/48", 122), { reserved, spread: spread << 58n });
    expect(ipaddr.parseCIDR(found ?? "")[0].toNormalizedString()).toMatch(/^fd00:0:0:[4-7][0-9a-f]{3}:/);
    expect(reads).toBeLessThanOrEqual(3);
  }
});

test("asks for nothing beyond 64 slots while these have a gap", async () => {
  const asked: Query[] = [];
  const datastore = new MemoryDatastore();
  const read = datastore.read.bind(datastore);
  datastore.read = async (queries, options) => {
    asked.push(...queries);
    return await read(queries, options);
  };
  const pool = poolOf("10.64.0.0/10", 26);
  const slots = Array.from({ length: 63 }, (_, i) => subnetAt(parsePrefix("10.65.16.0/20"), 26, i + 1));
  await claim(datastore, slots);
  const start = (10n * 2n ** 24n + 65n * 2n ** 16n + 16n * 2n ** 8n + 64n * 30n - pool.cidr.base) / 64n;
  expect(await find(datastore, pool, { spread: start })).toEqual({ found: "10.65.16.0/26", reads: 1 });
  expect(asked).toEqual([
    { type: "claimed-blocks", within: parsePrefix("10.65.16.0/20"), limit: 128 },
    { type: "get", ref: { kind: "IPPool", name: "p" } },
  ]);
});

test("nodes begin in different slots, also where much is reserved", async () => {
  const reserved = [parsePrefix("10.65.0.0/17")];
  const datastore = new MemoryDatastore();
  const found = new Set<string | undefined>();
  for (let i = 0n; i < 40n; i++) {
    const spread = i * 0x9e3779b97f4a7c15n;
    found.add((await find(datastore, poolOf("10.65.0.0/16", 26), { reserved, spread })).found);
  }
  expect(found.size).toBeGreaterThan(30);
});

test("a pool is asked for with its slots, even where one of the two is known: an older answer would say nothing of claims since then", async () => {
  const datastore = new MemoryDatastore();
  const pool = poolOf("10.65.0.0/20", 26);
  const wantedWith = (facts: Facts) => {
    const decision = collectWanted(() => findFreeBlock(pool, { facts, reserved: prefixSetOf([]), taken: new Set(), spread: 0n }));
    return "wanted" in decision ? decision.wanted : [];
  };
  const both = wantedWith(toFacts([], []));
  expect(both.map(({ type }) => type)).toEqual(["claimed-blocks", "get"]);
  for (const query of both) expect(wantedWith(toFacts([query], await datastore.read([query])))).toEqual(both);
  expect(wantedWith(toFacts(both, await datastore.read(both)))).toEqual([]);
});

test("as many claims as slots do not fill a pool when claims are smaller than slots", async () => {
  const datastore = new MemoryDatastore();
  const half = parsePrefix("10.65.0.0/20");
  await claim(
    datastore,
    Array.from({ length: 128 }, (_, i) => subnetAt(half, 27, i)),
  );
  expect((await find(datastore, poolOf("10.65.0.0/19", 26))).found).toBe("10.65.16.0/26");
});

test("in a pool with more slots than a start has numbers, starts lie in all of it", async () => {
  expect((await find(new MemoryDatastore(), poolOf("fd65::/48", 122), { spread: 2n ** 63n })).found).toBe("fd65:0:0:8000::/122");
});
