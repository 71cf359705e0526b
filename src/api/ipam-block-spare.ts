/**
 * An entry in the list of blocks with unallocated addresses. From it a search learns which blocks it need not read, because all those
 * addresses are reserved, or still cool down after their release.
 */

import type { Block, BlockRef } from "./ipam-block.ts";

/** A block with an unallocated address. */
export interface SpareBlock extends BlockRef {
  /** Absent: there are many, and the next one was never given. */
  readonly next?: NextOrdinals;
}

/** The unallocated ordinals in their order of reuse. */
export interface NextOrdinals {
  /** The first few of them, with the second of their release; 0: never given. */
  readonly listed: readonly NextOrdinal[];
  /** Whether these are all. */
  readonly isAll: boolean;
}

/** An unallocated ordinal, and when it was released: seconds since 1970, 0 if it was never given. */
export type NextOrdinal = readonly [ordinal: number, releasedAt: number];

const LISTED = 8;

/** Undefined for a block with much space: its entry must not change with every address that it gives. */
export function nextOrdinalsOf({ free, allocations, releasedAt }: Block): NextOrdinals | undefined {
  const isFew = free.length * LISTED <= free.length + allocations.length;
  if (!isFew && !releasedAt.has(free[0] ?? -1)) return undefined;
  const listed = free.slice(0, LISTED).map((ordinal): NextOrdinal => [ordinal, releasedAt.get(ordinal) ?? 0]);
  return { listed, isAll: free.length <= LISTED };
}

/** Checks a list that was read; anything else counts as absent, so that the block itself is read. */
export function toNextOrdinals(given: unknown): NextOrdinals | undefined {
  const { listed, isAll } = (given ?? {}) as { readonly listed?: unknown; readonly isAll?: unknown };
  if (!Array.isArray(listed) || typeof isAll !== "boolean" || !listed.every(isNextOrdinal)) return undefined;
  return { listed, isAll };
}

function isNextOrdinal(given: unknown): given is NextOrdinal {
  return Array.isArray(given) && given.length === 2 && given.every((number) => Number.isSafeInteger(number) && number >= 0);
}
