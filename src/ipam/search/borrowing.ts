/** Finds an address in another node's block. The list of spare blocks says which blocks are worth reading. */

import type { SpareBlock } from "../../api/ipam-block-spare.ts";
import type { BlockRef } from "../../api/ipam-block.ts";
import type { Query } from "../../datastore/datastore.ts";
import type { Address } from "../../lib/ip/address.ts";
import { baseOf, subnetAt, subnetCount, toPrefixText } from "../../lib/ip/prefix.ts";
import { isWithinCooldown } from "../block.ts";
import { blockAt } from "../draft.ts";
import { know } from "../facts.ts";
import type { Pool } from "../pools.ts";
import { reservedIn } from "../reservations.ts";
import { freeOrdinalsOf, give, isAllowed, noteCoolingDown, poolsAfter, type Search, usableOrdinal } from "./search.ts";
import type { Assigned } from "./plan-context.ts";

/** Blocks with spare addresses that one query asks for at first; more when none of them will do. */
const SPARE_BLOCKS = 64;

/** How many of those that may lend are read at once at first. */
const LENDERS = 8;

/** Takes an address out of another node's block, which stays with that node. */
export function byBorrowing(search: Search): Assigned | undefined {
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
