/** Addresses that are never given automatically. */

import type { IPReservation } from "../api/ip-reservation.ts";
import type { Resource } from "../api/resource.ts";
import type { Stored } from "../datastore/datastore.ts";
import { tryParseAddress, WIDTH } from "../lib/ip/address.ts";
import { addressAt, type Prefix, prefixOf } from "../lib/ip/prefix.ts";
import { type PrefixSet, prefixSetOf } from "../lib/ip/prefix-set.ts";
import { quote, quoteValue } from "../lib/quote.ts";
import { toRepair } from "./pools.ts";

/**
 * All reserved addresses. An entry that is no CIDR and no address reserves nothing; it does not stop the others.
 *
 * @param defects gets a sentence for each reservation that has such an entry
 */
export function toReservedSet(reservations: readonly Stored<Resource>[], defects?: Set<string>): PrefixSet {
  const prefixes: Prefix[] = [];
  for (const { value } of reservations) {
    // Written with etcdctl or kubectl, it may have any shape.
    const listed: unknown = (value as Partial<IPReservation>).spec?.reservedCIDRs ?? [];
    let defect = Array.isArray(listed) ? undefined : `its reservedCIDRs are ${quoteValue(listed)} and no list, and reserve nothing`;
    for (const entry of Array.isArray(listed) ? (listed as unknown[]) : []) {
      const prefix = typeof entry === "string" ? parseReserved(entry.trim()) : undefined;
      if (prefix === undefined) defect ??= `${quoteValue(entry)} in its reservedCIDRs is no CIDR and reserves nothing`;
      else prefixes.push(prefix);
    }
    const { name } = value.metadata;
    if (defect !== undefined) defects?.add(`ipreservation ${quote(name)}: ${defect}; ${toRepair("ipreservation", name)}`);
  }
  return prefixSetOf(prefixes);
}

/** Whether the ordinals of a block are reserved. */
export function reservedIn(reserved: PrefixSet, cidr: Prefix): (ordinal: number) => boolean {
  if (reserved.countIn(cidr) === 0n) return () => false;
  return (ordinal) => reserved.has(addressAt(cidr, ordinal));
}

/** Host bits are dropped: to reserve too much harms less than to reserve nothing. */
function parseReserved(text: string): Prefix | undefined {
  const [, addressText = "", lengthText] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const address = tryParseAddress(addressText);
  if (address === undefined) return undefined;
  const length = lengthText === undefined ? WIDTH[address.family] : Number(lengthText);
  return length > WIDTH[address.family] ? undefined : prefixOf(address, length);
}
