/**
 * Finds an address in another node's block: one in which that node has nothing left is taken over; of any other, an address is borrowed. Lists of empty
 * blocks, and of those with spare addresses, say which are worth reading.
 */

import type { SpareBlock } from "../../api/ipam-block-spare.ts";
import type { BlockRef } from "../../api/ipam-block.ts";
import type { Query } from "../../datastore/datastore.ts";
import type { Address } from "../../lib/ip/address.ts";
import { baseOf, subnetAt, subnetCount, toPrefixText } from "../../lib/ip/prefix.ts";
import { hasBegun, isEmpty, isWithinCooldown, moveTo } from "../block.ts";
import { blockAt } from "../draft.ts";
import { know } from "../facts.ts";
import type { Pool } from "../pools.ts";
import { reservedIn } from "../reservations.ts";
import { freeOrdinalsOf, give, isAllowed, noteCoolingDown, poolsAfter, type Search, usableOrdinal } from "./search.ts";
import { rotate } from "./slots.ts";
import type { TakenAddress } from "./plan-context.ts";

type Refs = readonly BlockRef[];

/** Empty blocks asked for at first; more when none of them will do. */
const EMPTY_BLOCKS = 64;

/** How many of those are read at once when the first one cannot be used. */
const EMPTY_BLOCKS_AT_ONCE = 8;

/** Blocks with spare addresses that one query asks for at first; more when none of them will do. */
const SPARE_BLOCKS = 64;

/** How many of those that may lend are read at once at first. */
const LENDERS = 8;

/** Takes over a block in which another node has nothing left. */
export function fromEmptyBlock(search: Search): TakenAddress | undefined {
  for (const [i, pool] of search.pools.entries()) {
    for (const candidates of emptyBlocks(search, pool, poolsAfter(search.pools, i))) {
      for (const [at, ref] of candidates.entries()) {
        // The first one can nearly always be used; after each that cannot, more are read at once.
        const prefetch = candidates.slice(at, at === 0 ? 1 : at + Math.max(EMPTY_BLOCKS_AT_ONCE, at));
        const taken = tryTakeOver(search, pool, ref, prefetch);
        if (taken !== undefined) return taken;
      }
    }
  }
  return undefined;
}

/** @param prefetch what is read with the block, if it must be read */
function tryTakeOver(search: Search, pool: Pool, ref: BlockRef, prefetch: Refs): TakenAddress | undefined {
  const { context, request, draft } = search;
  const { node } = request.owner;
  const found = blockAt(context.facts, draft, ref, prefetch);
  if (found === undefined || found.block.node === node) return undefined;
  const { stored, block } = found;
  if (!isEmpty(block, context.moment)) {
    if (block.emptySince !== undefined) search.coolingDownBlocks.add(toPrefixText(ref.cidr));
    return undefined;
  }
  const ordinal = usableOrdinal(search, found);
  return ordinal === undefined ? undefined : give(search, pool, { stored, block: moveTo(block, node) }, ordinal);
}

/**
 * Other nodes' empty blocks of a pool, some at a time, rotated so that not all nodes try the same one first. Blocks that have been empty for
 * longer than a cool-down come first: in the others addresses may still cool down, if the setting was raised after they were listed. Where
 * borrowing is allowed, it ends with the first list that has candidates: addresses in further blocks can be borrowed.
 */
function* emptyBlocks({ context, request, spread, coolingDownBlocks }: Search, pool: Pool, later: readonly Pool[]): Generator<Refs> {
  const queryOf = ({ cidr }: Pool, limit: number) => ({ type: "empty-blocks", within: cidr, limit }) as const satisfies Query;
  const { now, cooldown } = context.moment;
  const seen = new Set<string>();
  for (let limit = EMPTY_BLOCKS; ; limit *= 8) {
    const listed = know(context.facts, queryOf(pool, limit), () => later.map((other) => queryOf(other, EMPTY_BLOCKS)));
    const cooled: BlockRef[] = [];
    const recent: BlockRef[] = [];
    for (const { cidr, node, since } of listed) {
      const text = toPrefixText(cidr);
      if (seen.has(text) || node === request.owner.node || !isAllowed(context, pool, cidr)) continue;
      seen.add(text);
      if (!hasBegun(since, now)) coolingDownBlocks.add(text);
      else (since + cooldown < now ? cooled : recent).push({ cidr, node });
    }
    yield rotate(cooled, spread);
    yield rotate(recent, spread);
    const hasCandidates = cooled.length + recent.length > 0;
    if (listed.length < limit || (hasCandidates && !context.configuration.strictAffinity)) return;
  }
}

/** Takes an address out of another node's block, which stays with that node. */
export function byBorrowing(search: Search): TakenAddress | undefined {
  const { context, draft, request, pools } = search;
  const { node } = request.owner;
  for (const [i, pool] of pools.entries()) {
    for (const listed of spareBlocks(search, pool, poolsAfter(pools, i))) {
      const lenders = listed.filter((ref) => ref.node !== node && isAllowed(context, pool, ref.cidr) && mayLend(search, ref));
      for (const [at, ref] of lenders.entries()) {
        const found = blockAt(context.facts, draft, ref, lenders.slice(at, at + Math.max(LENDERS, at)));
        if (found === undefined || found.block.node === node) continue;
        const ordinal = usableOrdinal(search, found);
        if (ordinal !== undefined) return give(search, pool, found, ordinal);
        noteCoolingDown(search, ref.cidr, freeOrdinalsOf(found.block));
      }
    }
  }
  return undefined;
}

/** Whether a block is worth reading: not when all its free addresses are reserved, or cool down. */
function mayLend(search: Search, { cidr, next }: SpareBlock): boolean {
  if (next === undefined || search.draft.has(toPrefixText(cidr))) return true;
  const { reserved, moment } = search.context;
  const isReserved = reservedIn(reserved, cidr);
  const givable = next.listed.filter(([ordinal]) => !isReserved(ordinal));
  if (givable.some(([, releasedAt]) => !isWithinCooldown(releasedAt || undefined, moment))) return true;
  noteCoolingDown(search, cidr, givable);
  // Free addresses that are not listed were released later, so they cool down as well.
  return givable.length === 0 && !next.isAll;
}

/** Blocks of a pool with unallocated addresses, some at a time, once around from the node's start. */
function* spareBlocks({ context, spread }: Search, pool: Pool, later: readonly Pool[]): Generator<readonly SpareBlock[]> {
  const start = startOfSpare(pool, spread);
  const isBeforeStart = (ref: BlockRef): boolean => ref.cidr.base < start.value;
  const prefetch = (): readonly Query[] => [pool, ...later].flatMap((other) => spareQueries(other, spread));
  for (const part of ["from start", "up to start"] as const) {
    let from = part === "from start" ? start : baseOf(pool.cidr);
    for (let limit = SPARE_BLOCKS; ; limit *= 2) {
      const listed = know(context.facts, spareQuery(pool, from, limit), limit === SPARE_BLOCKS ? prefetch : undefined);
      yield part === "from start" ? listed : listed.filter(isBeforeStart);
      const last = listed.at(-1);
      if (last === undefined || listed.length < limit || (part === "up to start" && !isBeforeStart(last))) break;
      from = { family: from.family, value: last.cidr.base + 1n };
    }
    if (start.value === pool.cidr.base) return;
  }
}

function startOfSpare({ cidr, blockLength }: Pool, spread: bigint): Address {
  return baseOf(subnetAt(cidr, blockLength, spread % subnetCount(cidr, blockLength)));
}

/** What {@link spareBlocks} asks for first. */
function spareQueries(pool: Pool, spread: bigint): readonly Query[] {
  return [spareQuery(pool, startOfSpare(pool, spread), SPARE_BLOCKS), spareQuery(pool, baseOf(pool.cidr), SPARE_BLOCKS)];
}

function spareQuery({ cidr }: Pool, from: Address, limit: number) {
  return { type: "spare-blocks", within: cidr, from, limit } as const satisfies Query;
}
