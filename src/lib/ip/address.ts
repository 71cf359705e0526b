/** IP addresses: parsing, canonical text, order. */

/** Which IP an address or prefix is of, for what differs between the two: IPv4 or IPv6. */
export type Family = 4 | 6;

/** Width of an address in bits. */
export const WIDTH = { 4: 32, 6: 128 } as const;

/** An IPv4 or IPv6 address. Two equal addresses have equal fields, and {@link toAddressText} is a usable map key. */
export interface Address {
  readonly family: Family;
  /** 0 … 2^32−1 or 2^128−1. */
  readonly value: bigint;
}

/** Text that is not an address. */
export class AddressError extends SyntaxError {
  override readonly name = "AddressError";
}

/**
 * Parses a bare address. Refused are leading zeros in IPv4 (some parsers read them as octal), zones (`%eth0`) and IPv4 embedded
 * in IPv6 (`::ffff:10.0.0.1`). The same mapped address in hexadecimal (`::ffff:a00:1`) is an IPv6 address like any other.
 *
 * @param text e.g. `"10.65.0.7"`, `"fd00:65::7"`
 * @throws {AddressError}
 */
export function parseAddress(text: string): Address {
  const address = tryParseAddress(text);
  if (address === undefined) throw new AddressError(`parse address: got ${JSON.stringify(text.slice(0, 80))}, want IPv4 or IPv6`);
  return address;
}

/** As {@link parseAddress}, but `undefined` for text that is not an address. */
export function tryParseAddress(text: string): Address | undefined {
  if (text.length > MAX_TEXT_LENGTH) return undefined;
  const family = text.includes(":") ? 6 : 4;
  const value = family === 6 ? parseIPv6(text) : parseIPv4(text);
  return value === undefined ? undefined : { family, value };
}

/** Canonical text; IPv6 in the form of RFC 5952 §4, never with embedded IPv4. */
export function toAddressText(address: Address): string {
  return address.family === 4 ? toIPv4Text(Number(address.value)) : toIPv6Text(address.value);
}

/** The bytes in network order: 4 or 16 of them. */
export function toAddressBytes(address: Address): Uint8Array {
  const bytes = new Uint8Array(WIDTH[address.family] / 8);
  let rest = address.value;
  for (let i = bytes.length - 1; i >= 0; i--) {
    bytes[i] = Number(rest & 0xffn);
    rest >>= 8n;
  }
  return bytes;
}

/** @throws {RangeError} neither 4 nor 16 bytes */
export function fromAddressBytes(bytes: Uint8Array): Address {
  if (bytes.length !== 4 && bytes.length !== 16) throw new RangeError(`read address: got ${bytes.length} bytes, want 4 or 16`);
  let value = 0n;
  for (const byte of bytes) value = (value << 8n) | BigInt(byte);
  return { family: bytes.length === 4 ? 4 : 6, value };
}

/** Whether two addresses are the same. */
export function equalAddresses(a: Address, b: Address): boolean {
  return a.family === b.family && a.value === b.value;
}

/** Whether it lies in 169.254.0.0/16 or fe80::/10: such an address means nothing off its link. */
export function isLinkLocal(address: Address): boolean {
  return address.family === 4 ? address.value >> 16n === 0xa9fen : address.value >> 118n === 0x3fan;
}

/** No address is longer; keeps hostile text from costing anything. */
const MAX_TEXT_LENGTH = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff".length;

const ZERO = 0x30;
const DOT = 0x2e;

/** Four decimal octets without leading zeros. Reads codes one by one: it is called for every address of a block. */
function parseIPv4(text: string): bigint | undefined {
  let value = 0;
  let octet = -1;
  let dots = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === DOT) {
      if (octet < 0 || dots === 3) return undefined;
      value = value * 256 + octet;
      octet = -1;
      dots++;
      continue;
    }
    const digit = code - ZERO;
    if (digit < 0 || digit > 9 || octet === 0) return undefined;
    octet = octet < 0 ? digit : octet * 10 + digit;
    if (octet > 255) return undefined;
  }
  return dots === 3 && octet >= 0 ? BigInt(value * 256 + octet) : undefined;
}

/** Eight groups, one run of at least one of them abbreviated by `::`. */
function parseIPv6(text: string): bigint | undefined {
  const gap = text.indexOf("::");
  if (gap < 0) {
    const groups = text.split(":");
    return groups.length === 8 ? joinGroups(groups) : undefined;
  }
  if (text.includes("::", gap + 1)) return undefined;
  const head = gap === 0 ? [] : text.slice(0, gap).split(":");
  const tail = gap + 2 === text.length ? [] : text.slice(gap + 2).split(":");
  if (head.length + tail.length > 7) return undefined;
  const high = joinGroups(head);
  const low = joinGroups(tail);
  return high === undefined || low === undefined ? undefined : (high << BigInt(16 * (8 - head.length))) | low;
}

function joinGroups(groups: readonly string[]): bigint | undefined {
  let value = 0n;
  for (const group of groups) {
    const bits = parseGroup(group);
    if (bits < 0) return undefined;
    value = (value << 16n) | BigInt(bits);
  }
  return value;
}

/** One to four hexadecimal digits; −1 for anything else. */
function parseGroup(text: string): number {
  if (text === "" || text.length > 4) return -1;
  let bits = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    const letter = code | 0x20;
    if (code >= 0x30 && code <= 0x39) bits = bits * 16 + code - 0x30;
    else if (letter >= 0x61 && letter <= 0x66) bits = bits * 16 + letter - 0x57;
    else return -1;
  }
  return bits;
}

function toIPv4Text(value: number): string {
  return `${value >>> 24}.${(value >>> 16) & 255}.${(value >>> 8) & 255}.${value & 255}`;
}

function toIPv6Text(value: bigint): string {
  const groups: string[] = [];
  for (let shift = 112n; shift >= 0n; shift -= 16n) groups.push(((value >> shift) & 0xffffn).toString(16));
  const zeros = longestZeroRun(groups);
  if (zeros.count < 2) return groups.join(":");
  return `${groups.slice(0, zeros.start).join(":")}::${groups.slice(zeros.start + zeros.count).join(":")}`;
}

/** RFC 5952 §4.2.3: the longest run, and the first of equally long ones. */
function longestZeroRun(groups: readonly string[]): { start: number; count: number } {
  let best = { start: 0, count: 0 };
  for (let start = 0; start < groups.length; start++) {
    let count = 0;
    while (groups[start + count] === "0") count++;
    if (count > best.count) best = { start, count };
  }
  return best;
}
