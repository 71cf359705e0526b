/** IP prefixes: parsing, canonical text, containment, and the addresses and subnets inside. */

import { type Address, type Family, toAddressText, tryParseAddress, WIDTH } from "./address.ts";
import { tryParseLength } from "./cidr.ts";

/**
 * A network prefix such as `10.65.0.0/16`. Host bits are always zero, so two equal prefixes have equal fields and
 * {@link toPrefixText} is a usable map key.
 */
export interface Prefix {
  readonly family: Family;
  /** Network address, 0 … 2^32−1 or 2^128−1. */
  readonly base: bigint;
  /** Prefix length in bits, 0 … 32 or 128. */
  readonly length: number;
}

/** Text that is not a prefix, or one with host bits where none are allowed. */
export class PrefixError extends SyntaxError {
  override readonly name = "PrefixError";
}

/**
 * Parses `address/length`; a bare address is a host prefix (/32 or /128).
 *
 * @param text e.g. `"10.65.0.0/16"`, `"fd00:65::/64"`, `"10.65.0.7"`
 * @throws {PrefixError} not an address, length out of range, or host bits set
 */
export function parsePrefix(text: string): Prefix {
  const shown = JSON.stringify(text.slice(0, 80));
  const slash = text.indexOf("/");
  const address = tryParseAddress(slash < 0 ? text : text.slice(0, slash));
  if (address === undefined) throw new PrefixError(`parse prefix: got ${shown}, want address/length`);
  const width = WIDTH[address.family];
  const length = slash < 0 ? width : tryParseLength(text.slice(slash + 1), width);
  if (length === undefined)
    throw new PrefixError(`parse prefix ${shown}: got length ${JSON.stringify(text.slice(slash + 1).slice(0, 40))}, want 0..${width}`);
  const prefix = prefixOf(address, length);
  if (prefix.base !== address.value) throw new PrefixError(`parse prefix ${shown}: host bits are set, want "${toPrefixText(prefix)}"`);
  return prefix;
}

/** As {@link parsePrefix}, but `undefined` for text that is not a prefix, or has host bits set. */
export function tryParsePrefix(text: string): Prefix | undefined {
  try {
    return parsePrefix(text);
  } catch (error) {
    if (error instanceof PrefixError) return undefined;
    throw error;
  }
}

/** Canonical text; IPv6 in the form of RFC 5952 §4. */
export function toPrefixText(prefix: Prefix): string {
  return `${toAddressText(baseOf(prefix))}/${prefix.length}`;
}

/** The /32 or /128 of one address. */
export function toHostPrefix(address: Address): Prefix {
  return { family: address.family, base: address.value, length: WIDTH[address.family] };
}

/**
 * The prefix of `length` bits that holds an address.
 *
 * @throws {RangeError} `length` is not 0..32 or 0..128
 */
export function prefixOf(address: Address, length: number): Prefix {
  const width = WIDTH[address.family];
  if (!Number.isInteger(length) || length < 0 || length > width) throw new RangeError(`cut prefix: got length ${length}, want 0..${width}`);
  const hostBits = BigInt(width - length);
  return { family: address.family, base: (address.value >> hostBits) << hostBits, length };
}

/** Whether two prefixes are the same. */
export function equalPrefixes(a: Prefix, b: Prefix): boolean {
  return a.family === b.family && a.length === b.length && a.base === b.base;
}

/** Order for sorting: IPv4 before IPv6, then by base, then the wider first. */
export function comparePrefixes(a: Prefix, b: Prefix): number {
  if (a.family !== b.family) return a.family - b.family;
  if (a.base !== b.base) return a.base < b.base ? -1 : 1;
  return a.length - b.length;
}

/** Whether every address of `inner` lies in `outer`; false across families. */
export function containsPrefix(outer: Prefix, inner: Prefix): boolean {
  return inner.length >= outer.length && containsAddress(outer, baseOf(inner));
}

/** Whether an address lies in a prefix; false across families. */
export function containsAddress(prefix: Prefix, address: Address): boolean {
  if (prefix.family !== address.family) return false;
  const hostBits = BigInt(WIDTH[prefix.family] - prefix.length);
  return address.value >> hostBits === prefix.base >> hostBits;
}

/** Whether two prefixes have an address in common: then one contains the other. */
export function overlaps(a: Prefix, b: Prefix): boolean {
  return containsPrefix(a, b) || containsPrefix(b, a);
}

/** How many addresses it has. */
export function sizeOf(prefix: Prefix): bigint {
  return 1n << BigInt(WIDTH[prefix.family] - prefix.length);
}

/** The first address. */
export function baseOf(prefix: Prefix): Address {
  return { family: prefix.family, value: prefix.base };
}

/** The last address; in IPv4 the broadcast address of the subnet. */
export function lastAddressOf(prefix: Prefix): Address {
  return { family: prefix.family, value: prefix.base + sizeOf(prefix) - 1n };
}

/**
 * The address at a position, counted from the base.
 *
 * @throws {RangeError} the prefix has fewer addresses
 */
export function addressAt(prefix: Prefix, ordinal: number): Address {
  const offset = BigInt(ordinal);
  if (offset < 0n || offset >= sizeOf(prefix))
    throw new RangeError(`address ${offset} of ${toPrefixText(prefix)}: want 0..${sizeOf(prefix) - 1n}`);
  return { family: prefix.family, value: prefix.base + offset };
}

/** Position of an address, counted from the base; undefined when it lies outside. Exact up to 2^53, more than any block has. */
export function ordinalOf(prefix: Prefix, address: Address): number | undefined {
  return containsAddress(prefix, address) ? Number(address.value - prefix.base) : undefined;
}

/** How many subnets of `length` bits it has; 0 when it is itself longer. */
export function subnetCount(prefix: Prefix, length: number): bigint {
  return length < prefix.length || length > WIDTH[prefix.family] ? 0n : 1n << BigInt(length - prefix.length);
}

/**
 * The subnet of `length` bits at a position, counted from the base.
 *
 * @throws {RangeError} there are fewer of them
 */
export function subnetAt(prefix: Prefix, length: number, index: number | bigint): Prefix {
  const position = BigInt(index);
  const count = subnetCount(prefix, length);
  if (position < 0n || position >= count)
    throw new RangeError(`subnet ${position} of ${toPrefixText(prefix)} at /${length}: it has ${count}`);
  return { family: prefix.family, base: prefix.base + (position << BigInt(WIDTH[prefix.family] - length)), length };
}
