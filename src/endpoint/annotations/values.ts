/** The forms that annotations have: lists in JSON, and what may stand in them. */

import { messageOf } from "../../lib/errors.ts";
import { type Address, type Family, isLinkLocal, toAddressText, tryParseAddress } from "../../lib/ip/address.ts";
import { tryParseCidr } from "../../lib/ip/cidr.ts";
import { blockOf, type Prefix } from "../../lib/ip/prefix.ts";
import { parseJson } from "../../lib/json.ts";
import { type MacAddress, tryParseMac } from "../../lib/mac-address.ts";
import { quoteValue } from "../../lib/quote.ts";
import { HOST_MAC } from "../pod-link.ts";
import { type AnnotationSource, malformed } from "./sources.ts";

/** Families in the order in which addresses are given and printed. */
export const FAMILIES = [4, 6] as const satisfies readonly Family[];

/** Names or CIDRs of pools; undefined for an empty list, which sets nothing. Whether they exist only address management knows. */
export function readPools(source: AnnotationSource): readonly string[] | undefined {
  const pools = readList(source, `a JSON list of pool names or CIDRs such as ["blue", "10.65.0.0/16"]`, (text) => text);
  return pools.length === 0 ? undefined : pools;
}

export function readFamilies(source: AnnotationSource): readonly Family[] {
  const wanted = 'a JSON list of "IPv4", "IPv6" or both, such as ["IPv4", "IPv6"]';
  const listed = readList(source, wanted, toFamily);
  if (listed.length === 0) throw malformed(source, wanted);
  return FAMILIES.filter((family) => listed.includes(family));
}

/** One address of a family at most. */
export function readPodAddresses(source: AnnotationSource): readonly Address[] {
  const wanted = 'a JSON list of one IPv4 address, one IPv6 address, or one of each, such as ["10.65.0.7"]';
  const addresses = readList(source, wanted, tryParseAddress);
  if (addresses.length === 0) throw malformed(source, wanted);
  for (const family of FAMILIES) {
    const count = addresses.filter((address) => address.family === family).length;
    if (count > 1) throw malformed(source, wanted, `it has ${count} IPv${family} addresses`);
  }
  return addresses;
}

/** As {@link readPodAddresses}, of addresses that nothing else looks at: those that no pod can have are refused here. */
export function readUncheckedPodAddresses(source: AnnotationSource): readonly Address[] {
  const addresses = readPodAddresses(source);
  requireUnicast(source, addresses);
  return addresses;
}

/** Any number of addresses; a repeated one counts once. */
export function readFloatingAddresses(source: AnnotationSource): readonly Address[] {
  const wanted = 'a JSON list of addresses such as ["192.0.2.7"]';
  const addresses = readList(source, wanted, tryParseAddress);
  if (addresses.length === 0) throw malformed(source, wanted);
  requireUnicast(source, addresses);
  return [...new Map(addresses.map((address) => [toAddressText(address), address])).values()];
}

/** Host bits are cleared. */
export function readSourcePrefixes(source: AnnotationSource): readonly Prefix[] {
  return readList(source, 'a JSON list of CIDRs such as ["192.0.2.0/24"]', (text) => {
    const cidr = tryParseCidr(text);
    return cidr === undefined ? undefined : blockOf(cidr.address, cidr.length);
  });
}

export function readHardwareAddress(source: AnnotationSource): MacAddress {
  const mac = tryParseMac(source.value);
  if (mac === undefined) throw malformed(source, "a unicast MAC address such as 02:00:5e:10:00:01");
  if (mac === HOST_MAC) throw malformed(source, "a unicast MAC address that is not the host side's");
  return mac;
}

/** @param toEntry undefined for text that is no entry */
function readList<T>(source: AnnotationSource, wanted: string, toEntry: (text: string) => T | undefined): readonly T[] {
  return parseList(source, wanted).map((item, index) => {
    const entry = typeof item === "string" && item !== "" ? toEntry(item) : undefined;
    if (entry === undefined) throw malformed(source, wanted, `entry ${index + 1} is ${quoteValue(item)}`);
    return entry;
  });
}

function parseList(source: AnnotationSource, wanted: string): readonly unknown[] {
  let value: unknown;
  try {
    value = parseJson(source.value, { maxDepth: 8 });
  } catch (error) {
    throw malformed(source, wanted, messageOf(error));
  }
  if (!Array.isArray(value)) throw malformed(source, wanted, `it is ${quoteValue(value)}`);
  return value;
}

function toFamily(text: string): Family | undefined {
  return text === "IPv4" ? 4 : text === "IPv6" ? 6 : undefined;
}

function requireUnicast(source: AnnotationSource, addresses: readonly Address[]): void {
  const wrong = addresses.find((address) => !isUnicast(address));
  if (wrong !== undefined) throw malformed(source, "addresses that a pod can have", `"${toAddressText(wrong)}" is none`);
}

/** Whether an interface can have it and others can reach it: not unspecified, loopback, link-local, multicast or broadcast. */
function isUnicast(address: Address): boolean {
  if (isLinkLocal(address)) return false;
  if (address.family === 6) return address.value > 1n && address.value >> 120n !== 0xffn && address.value >> 32n !== 0xffffn;
  const first = Number(address.value >> 24n);
  return first !== 0 && first !== 127 && first < 224;
}
