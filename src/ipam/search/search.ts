/** One search for an address, and what its steps share. */

import type { NextOrdinal } from "../../api/ipam-block-spare.ts";
import type { Block } from "../../api/ipam-block.ts";
import type { Family } from "../../lib/ip/address.ts";
import { addressAt, containsPrefix, type Prefix, toPrefixText } from "../../lib/ip/prefix.ts";
import { isWithinCooldown, nextOrdinal, take } from "../block.ts";
import { type Draft, type DraftBlock, withBlock } from "../draft.ts";
import type { Pool } from "../pools.ts";
import type { AddressRequest } from "../request.ts";
import { reservedIn } from "../reservations.ts";
import type { TakenAddress, PlanContext } from "./plan-context.ts";

/** The request, and what it may use. */
export interface Search {
  readonly request: AddressRequest;
  readonly family: Family;
  readonly context: PlanContext;
  readonly draft: Draft;
  readonly pools: readonly Pool[];
  /** The node's own blocks. */
  readonly own: readonly DraftBlock[];
  readonly spread: bigint;
  /** Addresses that cool down after their release, by the CIDR of their block: for the message when nothing is found. */
  readonly coolingDown: Map<string, number>;
  /** CIDRs of other nodes' empty blocks that cannot be taken over yet, because addresses in them cool down: for the same message. */
  readonly coolingDownBlocks: Set<string>;
}

/** How many further pools' first queries are sent with those of the first pool; twice as many after each pool that had nothing. */
const POOLS_AHEAD = 8;

/** The pools whose turn comes next when the one at a position has nothing. */
export function poolsAfter(pools: readonly Pool[], position: number): readonly Pool[] {
  return pools.slice(position + 1, position + 1 + Math.max(POOLS_AHEAD, position));
}

/** Whether addresses of a block may be given from a pool. */
export function isAllowed({ reserved }: PlanContext, pool: Pool, cidr: Prefix): boolean {
  return containsPrefix(pool.cidr, cidr) && !reserved.covers(cidr);
}

/** The ordinal that a block gives next. */
export function usableOrdinal({ context }: Search, { block }: DraftBlock): number | undefined {
  if (block.free.length === 0) return undefined;
  return nextOrdinal(block, context.moment, reservedIn(context.reserved, block.cidr));
}

/** Ends a search: the address is taken. */
export function give(
  { draft, request, context }: Pick<Search, "draft" | "request" | "context">,
  pool: Pool,
  { stored, block }: DraftBlock,
  ordinal: number,
): TakenAddress {
  const next = take(block, ordinal, request.owner, context.moment.now);
  return { address: addressAt(block.cidr, ordinal), block: block.cidr, pool, draft: withBlock(draft, stored, next) };
}

/** All unallocated ordinals of a block. */
export function freeOrdinalsOf({ free, releasedAt }: Block): readonly NextOrdinal[] {
  return free.map((ordinal): NextOrdinal => [ordinal, releasedAt.get(ordinal) ?? 0]);
}

/** Remembers how many of these addresses could be given if they did not cool down. */
export function noteCoolingDown(
  { context: { reserved, moment }, coolingDown }: Search,
  cidr: Prefix,
  ordinals: readonly NextOrdinal[],
): void {
  const isReserved = reservedIn(reserved, cidr);
  const count = ordinals.filter(
    ([ordinal, releasedAt]) => !isReserved(ordinal) && isWithinCooldown(releasedAt || undefined, moment),
  ).length;
  if (count > 0) coolingDown.set(toPrefixText(cidr), count);
}
