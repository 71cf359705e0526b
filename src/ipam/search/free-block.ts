/**
 * Finds a slot for a new block without reading any block.
 *
 * 1. The claims among 64 slots around a start that differs from node to node, so that nodes seldom meet.
 * 2. A window of claims from the start on.
 * 3. Claims are counted by sixteenths of the pool; a part with fewer claims than slots is read, or divided again.
 *
 * Each read is one round trip: a /16 pool with one slot left costs three, a /8 pool five.
 */

import type { BlockRef } from "../../api/ipam-block.ts";
import type { Query, QueryOf } from "../../datastore/datastore.ts";
import { baseOf, type Prefix, prefixOf, subnetAt, subnetCount } from "../../lib/ip/prefix.ts";
import { type Facts, FactsWanted, know } from "../facts.ts";
import { type Pool, poolQueryOf } from "../pools.ts";
import { firstGap, type Obstacles, rotate, slotOf, type Start, startOf } from "./slots.ts";

/** Where a search looks, and what it must leave alone. */
export interface FreeBlockSearch extends Obstacles, Start {
  readonly facts: Facts;
}

/** Slots of the part that is looked at first, as bits: as many of the usual size as lie in one cell of the Kubernetes datastore. */
const NEAR_BITS = 6;
/** Claimed blocks that the window asks for. */
const WINDOW = 64;
/** A part with so many slots, or so many claims, is not divided further. */
const PART_BLOCKS = 1_024;
/** Claims of a part that are read at once: blocks may be smaller than the slots. */
const MAX_CLAIMS = 2 * PART_BLOCKS;
/** Bits of a prefix that one round of counting decides. */
const STEP_BITS = 4;

/**
 * A CIDR of the pool's block size that no claimed block overlaps and that is not reserved as a whole.
 *
 * @param later pools that the caller is likely to search when there is none
 * @returns undefined when the pool has none
 * @throws {FactsWanted} what must be read first
 */
export function findFreeBlock(pool: Pool, search: FreeBlockSearch, later: readonly Pool[] = []): Prefix | undefined {
  const nearQuery = nearQueryOf(pool, search);
  const near = claimsNear(pool, search, later);
  const found = gapNear(pool, search, nearQuery, near);
  const isAll = nearQuery.within.length === pool.cidr.length && near.length < nearQuery.limit;
  return found !== undefined || isAll ? found : findFarBlock(pool, search, near, later);
}

/**
 * The claims among the slots that are looked at first. The pool is always read in the same round: an older copy may have another block size,
 * and new claims of that size would not match the slots.
 *
 * @param later as of {@link findFreeBlock}
 * @throws {FactsWanted} what must be read first
 */
export function claimsNear(pool: Pool, search: Start & Pick<FreeBlockSearch, "facts">, later: readonly Pool[]): readonly BlockRef[] {
  const { facts } = search;
  const known = (one: Pool) => (facts.find(poolQueryOf(one)) === undefined ? undefined : facts.find(nearQueryOf(one, search)));
  const near = known(pool);
  if (near !== undefined) return near.answer;
  const unknown = [pool, ...later.filter((other) => known(other) === undefined)];
  throw new FactsWanted(unknown.flatMap((one) => [nearQueryOf(one, search), poolQueryOf(one)]));
}

/**
 * Searches the whole pool. It is full with as many claims as slots, unless a claim was seen that has another size; with more, some are
 * smaller.
 */
function findFarBlock(pool: Pool, search: FreeBlockSearch, near: readonly BlockRef[], later: readonly Pool[]): Prefix | undefined {
  const { facts } = search;
  const [countQuery, windowQuery, startQuery] = farQueriesOf(pool, search);
  const count = know(facts, countQuery, () => [windowQuery, startQuery, ...later.flatMap((other) => farQueriesOf(other, search))]);
  const window = know(facts, windowQuery);
  const atStart = know(facts, startQuery);
  // After a pool was created again with another block size, the number of claims does not tell how many slots are free.
  const isUniform = [...near, ...window, ...atStart].every(({ cidr }) => cidr.length === pool.blockLength);
  if (isUniform && BigInt(count) === subnetCount(pool.cidr, pool.blockLength)) return undefined;
  const inWindow = firstGap(pool, search, [...atStart, ...window], startOf(pool, search), endOf(pool, windowQuery, window));
  return inWindow ?? descend(pool, { ...search, isUniform }, { within: pool.cidr, count });
}

/** What {@link findFreeBlock} asks for first. Blocks may be smaller than the slots. */
function nearQueryOf(pool: Pool, search: Start) {
  const start = subnetAt(pool.cidr, pool.blockLength, startOf(pool, search));
  const within = prefixOf(baseOf(start), Math.max(pool.cidr.length, pool.blockLength - NEAR_BITS));
  return { type: "claimed-blocks", within, limit: 2 * 2 ** NEAR_BITS } as const satisfies Query;
}

/** From the start to the end of the part around it, then from its beginning. */
function gapNear(
  pool: Pool,
  search: FreeBlockSearch,
  query: ReturnType<typeof nearQueryOf>,
  claimed: readonly BlockRef[],
): Prefix | undefined {
  const first = slotOf(pool, { cidr: query.within });
  const end = endOf(pool, query, claimed);
  const start = startOf(pool, search);
  return firstGap(pool, search, claimed, start, end) ?? firstGap(pool, search, claimed, first, start < end ? start : end);
}

/** The slot up to which an answer tells of all claims: one that is as long as its limit may lack some behind its last one. */
function endOf(pool: Pool, { within, limit }: QueryOf<"claimed-blocks">, claimed: readonly BlockRef[]): bigint {
  if (claimed.length >= limit) return slotOf(pool, claimed.at(-1));
  return slotOf(pool, { cidr: within }) + subnetCount(within, pool.blockLength);
}

/** What {@link findFarBlock} asks for first. */
function farQueriesOf(pool: Pool, search: Start) {
  const start = subnetAt(pool.cidr, pool.blockLength, startOf(pool, search));
  return [
    { type: "count-blocks", within: pool.cidr },
    { type: "claimed-blocks", within: pool.cidr, from: baseOf(start), limit: WINDOW },
    { type: "claimed-blocks", within: start, limit: 1 },
  ] as const satisfies readonly Query[];
}

/** A part of a pool, and how many blocks are claimed in it. */
interface Part {
  readonly within: Prefix;
  readonly count: number;
}

/** A search by counting. */
interface CountingSearch extends FreeBlockSearch {
  /** Whether all claims that were seen have the pool's block size: then a part with as many as slots is full. */
  readonly isUniform: boolean;
}

/** The first free slot of a part: by its claims when they are few, else by counting in its own parts. */
function descend(pool: Pool, search: CountingSearch, part: Part, prefetch: () => readonly Query[] = () => []): Prefix | undefined {
  if (isSmall(pool, part)) return gapInPart(pool, search, part.within, prefetch);
  if (part.within.length === pool.blockLength) return undefined; // one slot, with very many small claims
  const countQueries = countQueriesOf(pool, part.within);
  const candidates: Part[] = [];
  for (const query of rotate(countQueries, search.spread)) {
    const { within } = query;
    if (search.reserved.covers(within)) continue;
    const count = know(search.facts, query, () => [...countQueries, ...prefetch()]);
    if (!search.isUniform || BigInt(count) !== subnetCount(within, pool.blockLength)) candidates.push({ within, count });
  }
  for (const [i, candidate] of candidates.entries()) {
    // A part that has fewer claims than slots has a free one, unless that is reserved: with each that failed, ask for more at once.
    const next = (): readonly Query[] => candidates.slice(i + 1, 2 * i + 1).flatMap((other) => firstQueriesOf(pool, other));
    const found = descend(pool, search, candidate, next);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Whether all claims of a part are read at once. */
function isSmall(pool: Pool, { within, count }: Part): boolean {
  return count <= PART_BLOCKS || (subnetCount(within, pool.blockLength) <= BigInt(PART_BLOCKS) && count < MAX_CLAIMS);
}

/** What {@link descend} asks for first. */
function firstQueriesOf(pool: Pool, part: Part): readonly Query[] {
  return isSmall(pool, part) ? [claimsQueryOf(part.within)] : countQueriesOf(pool, part.within);
}

function countQueriesOf(pool: Pool, within: Prefix): readonly QueryOf<"count-blocks">[] {
  const length = Math.min(within.length + STEP_BITS, pool.blockLength);
  return Array.from({ length: 2 ** (length - within.length) }, (_, i) => ({ type: "count-blocks", within: subnetAt(within, length, i) }));
}

function claimsQueryOf(within: Prefix) {
  return { type: "claimed-blocks", within, limit: MAX_CLAIMS } as const satisfies Query;
}

function gapInPart(pool: Pool, search: FreeBlockSearch, within: Prefix, prefetch: () => readonly Query[]): Prefix | undefined {
  const query = claimsQueryOf(within);
  const claimed = know(search.facts, query, prefetch);
  return firstGap(pool, search, claimed, slotOf(pool, { cidr: within }), endOf(pool, query, claimed));
}
