/** A set of addresses made of prefixes: answers by binary search, whatever the number of prefixes. */

import type { Address, Family } from "./address.ts";
import { lastAddressOf, type Prefix } from "./prefix.ts";

/** An unchanging set of addresses. */
export interface PrefixSet {
  /** Whether every address of a prefix is in the set, by one of its prefixes or by several together. */
  covers(prefix: Prefix): boolean;
  /** Whether an address is in the set. */
  has(address: Address): boolean;
  /** How many addresses of a prefix are in the set; each counts once. */
  countIn(prefix: Prefix): bigint;
}

/** Both ends belong to it. */
interface Interval {
  readonly first: bigint;
  readonly last: bigint;
}

/** The union of prefixes, which may overlap and be of both families. */
export function prefixSetOf(prefixes: readonly Prefix[]): PrefixSet {
  const intervals = { 4: unionOf(prefixes, 4), 6: unionOf(prefixes, 6) };
  const covers = (family: Family, first: bigint, last: bigint): boolean => {
    const nearest = intervals[family][indexOfLastStart(intervals[family], first)];
    return nearest !== undefined && last <= nearest.last;
  };
  return {
    covers: (prefix) => covers(prefix.family, prefix.base, lastAddressOf(prefix).value),
    has: (address) => covers(address.family, address.value, address.value),
    countIn: (prefix) => countBetween(intervals[prefix.family], prefix.base, lastAddressOf(prefix).value),
  };
}

/** Disjoint intervals in ascending order, neighbours joined. */
function unionOf(prefixes: readonly Prefix[], family: Family): readonly Interval[] {
  const sorted = prefixes.filter((prefix) => prefix.family === family).sort((a, b) => (a.base < b.base ? -1 : a.base > b.base ? 1 : 0));
  const union: { first: bigint; last: bigint }[] = [];
  for (const prefix of sorted) {
    const last = lastAddressOf(prefix).value;
    const previous = union.at(-1);
    if (previous === undefined || prefix.base > previous.last + 1n) union.push({ first: prefix.base, last });
    else if (last > previous.last) previous.last = last;
  }
  return union;
}

/** Index of the last interval that begins at or before `value`, −1 when none does. */
function indexOfLastStart(intervals: readonly Interval[], value: bigint): number {
  let low = 0;
  let high = intervals.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const interval = intervals[middle];
    if (interval !== undefined && interval.first <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function countBetween(intervals: readonly Interval[], first: bigint, last: bigint): bigint {
  let count = 0n;
  for (let i = Math.max(0, indexOfLastStart(intervals, first)); i < intervals.length; i++) {
    const interval = intervals[i];
    if (interval === undefined || interval.first > last) break;
    const from = interval.first > first ? interval.first : first;
    const to = interval.last < last ? interval.last : last;
    if (from <= to) count += to - from + 1n;
  }
  return count;
}
