/** The slots of a pool: where blocks of its size may lie, numbered from the pool's base. */

import type { BlockRef } from "../../api/ipam-block.ts";
import type { PrefixSet } from "../../lib/ip/prefix-set.ts";
import { baseOf, lastAddressOf, overlaps, type Prefix, prefixOf, subnetAt, subnetCount, toPrefixText } from "../../lib/ip/prefix.ts";
import type { Pool } from "../pools.ts";

/** What a new block must leave alone besides claimed ones. */
export interface Obstacles {
  readonly reserved: PrefixSet;
  /** CIDRs that this plan claims already. */
  readonly taken: ReadonlySet<string>;
}

/** What decides where a search begins. */
export interface Start extends Pick<Obstacles, "reserved"> {
  /** Spreads the searches of different nodes and tries: any number, e.g. {@link spreadOf}. */
  readonly spread: bigint;
}

/** How many starts are tried until one is not reserved. */
const STARTS = 8;

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

/** The same entries in the order in which a search goes through them: so that not all nodes try the same one first. */
export function rotate<T>(entries: readonly T[], spread: bigint): readonly T[] {
  const begin = entries.length === 0 ? 0 : Number(spread % BigInt(entries.length));
  return [...entries.slice(begin), ...entries.slice(0, begin)];
}

/** Where a search begins. Not in a reserved part, if possible: all nodes that began there would meet at its end. */
export function startOf(pool: Pool, { spread, reserved }: Start): bigint {
  let start = toSlot(pool, spread);
  for (let i = 1n; i < STARTS && reserved.covers(subnetAt(pool.cidr, pool.blockLength, start)); i++) start = toSlot(pool, mix(spread + i));
  return start;
}

/** Maps a 64-bit number to a slot. An IPv6 pool may have more slots than there are such numbers; these are then spread over the whole pool. */
function toSlot({ cidr, blockLength }: Pool, number: bigint): bigint {
  const slots = subnetCount(cidr, blockLength);
  const spread = BigInt.asUintN(64, number);
  return slots > 1n << 64n ? spread * (slots >> 64n) : spread % slots;
}

/**
 * The first slot from `start` (inclusive) to `end` (exclusive) that none of `claimed` overlaps.
 *
 * @param claimed all that are claimed between the two, in address order
 */
export function firstGap(
  pool: Pool,
  { reserved, taken }: Obstacles,
  claimed: readonly Pick<BlockRef, "cidr">[],
  start: bigint,
  end: bigint,
): Prefix | undefined {
  let next = 0;
  for (let slot = start; slot < end;) {
    const candidate = subnetAt(pool.cidr, pool.blockLength, slot);
    while (isBefore(claimed[next], candidate)) next++;
    const obstacle = claimed[next];
    if (obstacle !== undefined && overlaps(obstacle.cidr, candidate)) {
      slot = slotAfter(pool, obstacle.cidr);
    } else if (reserved.covers(candidate)) {
      slot = slotAfter(pool, largestReserved(pool, reserved, candidate));
    } else if (taken.has(toPrefixText(candidate))) {
      slot++;
    } else {
      return candidate;
    }
  }
  return undefined;
}

function isBefore(block: Pick<BlockRef, "cidr"> | undefined, candidate: Prefix): boolean {
  return block !== undefined && lastAddressOf(block.cidr).value < candidate.base;
}

/** The largest prefix of the pool around a reserved slot that is reserved as a whole: saves looking at each slot in it. */
function largestReserved(pool: Pool, reserved: PrefixSet, candidate: Prefix): Prefix {
  let largest = candidate;
  for (let length = candidate.length - 1; length >= pool.cidr.length; length--) {
    const wider = prefixOf(baseOf(candidate), length);
    if (!reserved.covers(wider)) break;
    largest = wider;
  }
  return largest;
}

/** Number of the slot in which a block begins; 0 for none. */
export function slotOf(pool: Pool, block: Pick<BlockRef, "cidr"> | undefined): bigint {
  if (block === undefined) return 0n;
  return (block.cidr.base - pool.cidr.base) / sizeOfSlot(pool);
}

function slotAfter(pool: Pool, prefix: Prefix): bigint {
  return (lastAddressOf(prefix).value - pool.cidr.base) / sizeOfSlot(pool) + 1n;
}

function sizeOfSlot(pool: Pool): bigint {
  return lastAddressOf(subnetAt(pool.cidr, pool.blockLength, 0)).value - pool.cidr.base + 1n;
}
