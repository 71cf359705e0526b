/**
 * Finds a place for a new block without reading every block.
 *
 * First a window of claimed blocks from a start that differs from node to node, so that nodes seldom meet. Only when the
 * window has no gap, the pool is counted in sixteenths, and the search goes on in one that has fewer blocks than places:
 * a /16 pool with one place left costs three reads, a /8 pool five. Each read is one round trip.
 */

import type { BlockRef } from "../api/ipam-block.ts";
import type { Query } from "../datastore/datastore.ts";
import { addressAt, baseOf, blockOf, lastAddressOf, overlaps, type Prefix, subnetAt, subnetCount, toPrefixText } from "../lib/ip/prefix.ts";
import type { PrefixSet } from "../lib/ip/prefix-set.ts";
import { type Facts, know } from "./facts.ts";
import type { Pool } from "./pools.ts";

/** Where a search looks, and what it must leave alone. */
export interface FreeBlockSearch {
  readonly facts: Facts;
  readonly reserved: PrefixSet;
  /** CIDRs that this plan claims already. */
  readonly taken: ReadonlySet<string>;
  /** Spreads the searches of different nodes and tries: any number, e.g. {@link spreadOf}. */
  readonly spread: bigint;
}

/** Claimed blocks that one query asks for. */
const WINDOW = 64;
/** Bits of a prefix that one round of counting decides. */
const STEP_BITS = 4;

/**
 * A CIDR of the pool's block size that no claimed block overlaps and that is not reserved as a whole.
 *
 * @returns undefined when the pool has none
 * @throws {FactsWanted} what must be read first
 */
export function findFreeBlock(pool: Pool, search: FreeBlockSearch, ahead: readonly Query[] = []): Prefix | undefined {
  const { facts } = search;
  const [countQuery, windowQuery, startQuery] = freeBlockQueries(pool, search.spread);
  const count = know(facts, countQuery, [windowQuery, startQuery, ...ahead]);
  const window = know(facts, windowQuery);
  const atStart = know(facts, startQuery);
  // Blocks of another size, from before the pool was made anew, make counts say less.
  const isUniform = [...window, ...atStart].every(({ cidr }) => cidr.length === pool.blockLength);
  const places = subnetCount(pool.cidr, pool.blockLength);
  if (isUniform && BigInt(count) >= places) return undefined;
  const start = startOf(pool, search.spread);
  const end = window.length < WINDOW ? places : placeOf(pool, window.at(-1));
  return firstGap(pool, search, [...atStart, ...window], start, end) ?? descend(pool, search, pool.cidr, isUniform);
}

/** What {@link findFreeBlock} asks for first. */
export function freeBlockQueries(pool: Pool, spread: bigint) {
  const start = subnetAt(pool.cidr, pool.blockLength, startOf(pool, spread));
  return [
    { type: "count-blocks", within: pool.cidr },
    { type: "claimed-blocks", within: pool.cidr, from: baseOf(start), limit: WINDOW },
    { type: "claimed-blocks", within: start, limit: 1 },
  ] as const satisfies readonly Query[];
}

/** A number that is stable for a node and differs between nodes (FNV-1a with a final mix, 64 bits). */
export function spreadOf(node: string): bigint {
  let hash = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(node)) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  hash = BigInt.asUintN(64, (hash ^ (hash >> 33n)) * 0xff51afd7ed558ccdn);
  return hash ^ (hash >> 33n);
}

function startOf(pool: Pool, spread: bigint): bigint {
  return spread % subnetCount(pool.cidr, pool.blockLength);
}

/** The first free place inside `within`, by counting its parts. */
function descend(pool: Pool, search: FreeBlockSearch, within: Prefix, isUniform: boolean): Prefix | undefined {
  if (search.reserved.covers(within)) return undefined;
  const places = subnetCount(within, pool.blockLength);
  if (places <= BigInt(WINDOW)) {
    const limit = WINDOW * 16; // blocks may be smaller than the places
    const claimed = know(search.facts, { type: "claimed-blocks", within, limit });
    const first = placeOf(pool, { cidr: within });
    return firstGap(pool, search, claimed, first, claimed.length < limit ? first + places : placeOf(pool, claimed.at(-1)));
  }
  const length = Math.min(within.length + STEP_BITS, pool.blockLength);
  const parts = Array.from({ length: 2 ** (length - within.length) }, (_, i) => subnetAt(within, length, i));
  const counts = parts.map((part): Query & { type: "count-blocks" } => ({ type: "count-blocks", within: part }));
  const begin = Number(search.spread % BigInt(parts.length));
  for (const part of [...parts.slice(begin), ...parts.slice(0, begin)]) {
    const count = know(search.facts, { type: "count-blocks", within: part }, counts);
    if (isUniform && BigInt(count) >= subnetCount(part, pool.blockLength)) continue;
    const found = descend(pool, search, part, isUniform);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * The first place from `start` (inclusive) to `end` (exclusive) that none of `claimed` overlaps.
 *
 * @param claimed all that are claimed between the two, in address order
 */
function firstGap(
  pool: Pool,
  search: FreeBlockSearch,
  claimed: readonly Pick<BlockRef, "cidr">[],
  start: bigint,
  end: bigint,
): Prefix | undefined {
  let next = 0;
  for (let place = start; place < end;) {
    const candidate = subnetAt(pool.cidr, pool.blockLength, place);
    while (isBefore(claimed[next], candidate)) next++;
    const obstacle = claimed[next];
    if (obstacle !== undefined && overlaps(obstacle.cidr, candidate)) {
      place = placeAfter(pool, obstacle.cidr);
    } else if (search.reserved.covers(candidate)) {
      place = placeAfter(pool, largestReserved(pool, search.reserved, candidate));
    } else if (search.taken.has(toPrefixText(candidate))) {
      place++;
    } else {
      return candidate;
    }
  }
  return undefined;
}

function isBefore(block: Pick<BlockRef, "cidr"> | undefined, candidate: Prefix): boolean {
  return block !== undefined && lastAddressOf(block.cidr).value < candidate.base;
}

/** The largest prefix of the pool around a reserved place that is reserved as a whole: saves looking at each place in it. */
function largestReserved(pool: Pool, reserved: PrefixSet, candidate: Prefix): Prefix {
  let largest = candidate;
  for (let length = candidate.length - 1; length >= pool.cidr.length; length--) {
    const wider = blockOf(addressAt(candidate, 0), length);
    if (!reserved.covers(wider)) break;
    largest = wider;
  }
  return largest;
}

/** Number of the place in which a block begins, counted from the pool's base. */
function placeOf(pool: Pool, block: Pick<BlockRef, "cidr"> | undefined): bigint {
  if (block === undefined) return 0n;
  return (block.cidr.base - pool.cidr.base) / sizeOfPlace(pool);
}

function placeAfter(pool: Pool, prefix: Prefix): bigint {
  return (lastAddressOf(prefix).value - pool.cidr.base) / sizeOfPlace(pool) + 1n;
}

function sizeOfPlace(pool: Pool): bigint {
  return lastAddressOf(subnetAt(pool.cidr, pool.blockLength, 0)).value - pool.cidr.base + 1n;
}
