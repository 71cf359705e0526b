/**
 * Finds a place for a new block without reading any block.
 *
 * First the claims among 64 places around a start that differs from node to node, so that nodes seldom meet: no datastore has to look
 * further for them. Only when those have no gap, a window of claims from the start on; then the pool is counted in sixteenths, and the
 * claims are read in parts that have fewer of them than places: a /16 pool with one place left costs three reads, a /8 pool five. Each
 * read is one round trip.
 */

import type { BlockRef } from "../api/ipam-block.ts";
import type { Query } from "../datastore/datastore.ts";
import { addressAt, baseOf, blockOf, lastAddressOf, overlaps, type Prefix, subnetAt, subnetCount, toPrefixText } from "../lib/ip/prefix.ts";
import type { PrefixSet } from "../lib/ip/prefix-set.ts";
import { type Facts, know } from "./facts.ts";
import { type Pool, poolQueryOf } from "./pools.ts";

/** Where a search looks, and what it must leave alone. */
export interface FreeBlockSearch {
  readonly facts: Facts;
  readonly reserved: PrefixSet;
  /** CIDRs that this plan claims already. */
  readonly taken: ReadonlySet<string>;
  /** Spreads the searches of different nodes and tries: any number, e.g. {@link spreadOf}. */
  readonly spread: bigint;
}

/** Places of the part that is looked at first, as bits: as many of the usual size as lie in one cell of the Kubernetes datastore. */
const NEAR_BITS = 6;
/** Claimed blocks that the window asks for. */
const WINDOW = 64;
/** A part with so many places, or so many claims, is not divided further. */
const PART_BLOCKS = 1_024;
/** Bits of a prefix that one round of counting decides. */
const STEP_BITS = 4;
/** Starts that are tried until one is not reserved. */
const STARTS = 8;

/**
 * A CIDR of the pool's block size that no claimed block overlaps and that is not reserved as a whole.
 *
 * @param later pools that the caller is likely to search when there is none
 * @returns undefined when the pool has none
 * @throws {FactsWanted} what must be read first
 */
export function findFreeBlock(pool: Pool, search: FreeBlockSearch, later: () => readonly Pool[] = () => []): Prefix | undefined {
  const nearQuery = nearQueryOf(pool, search);
  const near = know(search.facts, nearQuery, () => [
    poolQueryOf(pool),
    ...later().flatMap((other): readonly Query[] => [nearQueryOf(other, search), poolQueryOf(other)]),
  ]);
  const found = gapNear(pool, search, nearQuery, near);
  const isAll = nearQuery.within.length === pool.cidr.length && near.length < nearQuery.limit;
  return found !== undefined || isAll ? found : findFarBlock(pool, search, later);
}

/** Anywhere in the pool. */
function findFarBlock(pool: Pool, search: FreeBlockSearch, later: () => readonly Pool[]): Prefix | undefined {
  const { facts } = search;
  const [countQuery, windowQuery, startQuery] = farQueriesOf(pool, search);
  const count = know(facts, countQuery, () => [windowQuery, startQuery, ...later().flatMap((other) => farQueriesOf(other, search))]);
  const window = know(facts, windowQuery);
  const atStart = know(facts, startQuery);
  // Blocks of another size, from before the pool was made anew, make counts say less.
  const isUniform = [...window, ...atStart].every(({ cidr }) => cidr.length === pool.blockLength);
  const places = subnetCount(pool.cidr, pool.blockLength);
  if (isUniform && BigInt(count) >= places) return undefined;
  const start = startOf(pool, search);
  const end = window.length < WINDOW ? places : placeOf(pool, window.at(-1));
  return firstGap(pool, search, [...atStart, ...window], start, end) ?? descend(pool, search, { within: pool.cidr, count }, isUniform);
}

type Spread = Pick<FreeBlockSearch, "spread" | "reserved">;

/** What {@link findFreeBlock} asks for first. Blocks may be smaller than the places. */
function nearQueryOf(pool: Pool, search: Spread) {
  const start = subnetAt(pool.cidr, pool.blockLength, startOf(pool, search));
  const within = blockOf(baseOf(start), Math.max(pool.cidr.length, pool.blockLength - NEAR_BITS));
  return { type: "claimed-blocks", within, limit: 2 * 2 ** NEAR_BITS } as const satisfies Query;
}

/** From the start to the end of the part around it, then from its beginning. */
function gapNear(
  pool: Pool,
  search: FreeBlockSearch,
  { within, limit }: ReturnType<typeof nearQueryOf>,
  claimed: readonly BlockRef[],
): Prefix | undefined {
  const first = placeOf(pool, { cidr: within });
  const end = claimed.length < limit ? first + subnetCount(within, pool.blockLength) : placeOf(pool, claimed.at(-1));
  const start = startOf(pool, search);
  return firstGap(pool, search, claimed, start, end) ?? firstGap(pool, search, claimed, first, start < end ? start : end);
}

/** What {@link findFarBlock} asks for first. */
function farQueriesOf(pool: Pool, search: Spread) {
  const start = subnetAt(pool.cidr, pool.blockLength, startOf(pool, search));
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
  return mix(hash);
}

/** Another number, 64 bits, in which each bit depends on all of the given one's. */
function mix(number: bigint): bigint {
  const mixed = BigInt.asUintN(64, (number ^ (number >> 33n)) * 0xff51afd7ed558ccdn);
  return mixed ^ (mixed >> 33n);
}

/** Nodes that would begin in a reserved part would all meet behind it, so they begin elsewhere. */
function startOf(pool: Pool, { spread, reserved }: Spread): bigint {
  let start = toPlace(pool, spread);
  for (let i = 1n; i < STARTS && reserved.covers(subnetAt(pool.cidr, pool.blockLength, start)); i++) start = toPlace(pool, mix(spread + i));
  return start;
}

/** A place for a number of 64 bits; in an IPv6 pool that has more places than such numbers, one of all its parts. */
function toPlace({ cidr, blockLength }: Pool, number: bigint): bigint {
  const places = subnetCount(cidr, blockLength);
  const spread = BigInt.asUintN(64, number);
  return places > 1n << 64n ? spread * (places >> 64n) : spread % places;
}

/** A part of a pool, and how many blocks are claimed in it. */
interface Part {
  readonly within: Prefix;
  readonly count: number;
}

/** The first free place of a part: by its claims when they are few, else by counting in its own parts. */
function descend(
  pool: Pool,
  search: FreeBlockSearch,
  part: Part,
  isUniform: boolean,
  ahead: () => readonly Query[] = () => [],
): Prefix | undefined {
  if (isSmall(pool, part)) return gapInPart(pool, search, part.within, ahead);
  const countQueries = countQueriesOf(pool, part.within);
  const begin = Number(search.spread % BigInt(countQueries.length));
  const candidates: Part[] = [];
  for (const query of [...countQueries.slice(begin), ...countQueries.slice(0, begin)]) {
    const { within } = query;
    if (search.reserved.covers(within)) continue;
    const count = know(search.facts, query, () => [...countQueries, ...ahead()]);
    if (!isUniform || BigInt(count) < subnetCount(within, pool.blockLength)) candidates.push({ within, count });
  }
  for (const [i, candidate] of candidates.entries()) {
    // A part that has fewer claims than places has a free one, unless that is reserved: with each that failed, ask for more at once.
    const next = (): readonly Query[] => candidates.slice(i + 1, 2 * i + 1).flatMap((other) => firstQueriesOf(pool, other));
    const found = descend(pool, search, candidate, isUniform, next);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Whether all claims of a part are read at once. */
function isSmall(pool: Pool, { within, count }: Part): boolean {
  return count <= PART_BLOCKS || subnetCount(within, pool.blockLength) <= BigInt(PART_BLOCKS);
}

type CountQuery = Query & { type: "count-blocks" };

/** What {@link descend} asks for first. */
function firstQueriesOf(pool: Pool, part: Part): readonly Query[] {
  return isSmall(pool, part) ? [claimsQueryOf(part.within)] : countQueriesOf(pool, part.within);
}

function countQueriesOf(pool: Pool, within: Prefix): readonly CountQuery[] {
  const length = Math.min(within.length + STEP_BITS, pool.blockLength);
  return Array.from({ length: 2 ** (length - within.length) }, (_, i) => ({ type: "count-blocks", within: subnetAt(within, length, i) }));
}

/** Blocks may be smaller than the places. */
function claimsQueryOf(within: Prefix) {
  return { type: "claimed-blocks", within, limit: 2 * PART_BLOCKS } as const satisfies Query;
}

function gapInPart(pool: Pool, search: FreeBlockSearch, within: Prefix, ahead: () => readonly Query[]): Prefix | undefined {
  const query = claimsQueryOf(within);
  const claimed = know(search.facts, query, ahead);
  const first = placeOf(pool, { cidr: within });
  const end = claimed.length < query.limit ? first + subnetCount(within, pool.blockLength) : placeOf(pool, claimed.at(-1));
  return firstGap(pool, search, claimed, first, end);
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
