/** The forms that annotations have: lists in JSON, and what they may hold. */

import { MalformedValue, parseFloatingIPs, parseList, parseSourcePrefixes } from "../../api/pod-annotations.ts";
import type { Address, Family } from "../../lib/ip/address.ts";
import type { Prefix } from "../../lib/ip/prefix.ts";
import { type MacAddress, tryParseMac } from "../../lib/mac-address.ts";
import { HOST_MAC } from "../pod-link.ts";
import { type AnnotationSource, malformed } from "./sources.ts";

/** Families in the order in which addresses are given and printed. */
export const FAMILIES = [4, 6] as const satisfies readonly Family[];

/**
 * Names or CIDRs of pools; undefined for an empty list, which sets nothing. Whether they exist only address management knows. A repeated one
 * counts once: an annotation has room for 64 000, which would be looked for while others wait for their turn.
 */
export function readPools(source: AnnotationSource): readonly string[] | undefined {
  const pools = readList(source, `a JSON list of pool names or CIDRs such as ["blue", "10.65.0.0/16"]`, (text) => text);
  return pools.length === 0 ? undefined : [...new Set(pools)];
}

/** One family or both, never none. */
export function readFamilies(source: AnnotationSource): readonly Family[] {
  const wanted = 'a JSON list of "IPv4", "IPv6" or both, such as ["IPv4", "IPv6"]';
  const listed = readList(source, wanted, toFamily);
  if (listed.length === 0) throw malformed(source, wanted);
  return FAMILIES.filter((family) => listed.includes(family));
}

/** Any number of addresses; a repeated one counts once. */
export function readFloatingAddresses(source: AnnotationSource): readonly Address[] {
  return strictly(source, parseFloatingIPs);
}

/** Host bits are cleared. */
export function readSourcePrefixes(source: AnnotationSource): readonly Prefix[] {
  return strictly(source, parseSourcePrefixes);
}

/** A MAC address for the pod's end of the link; the host's end has another. */
export function readHardwareAddress(source: AnnotationSource): MacAddress {
  const mac = tryParseMac(source.value);
  if (mac === undefined) {
    // With another first octet it would do.
    const isMulticast = /^[\da-f][13579bdf]/i.test(source.value) && tryParseMac(`02${source.value.slice(2)}`) !== undefined;
    throw malformed(
      source,
      "a unicast MAC address such as 02:00:5e:10:00:01",
      isMulticast ? "with an odd first octet it is multicast" : undefined,
    );
  }
  if (mac === HOST_MAC) throw malformed(source, "a unicast MAC address that is not the host side's");
  return mac;
}

/** @param toEntry undefined for text that is no entry */
function readList<T>(source: AnnotationSource, wanted: string, toEntry: (text: string) => T | undefined): readonly T[] {
  return strictly(source, (text) => parseList(text, wanted, toEntry));
}

/** @throws {NetplugError} malformedRequest that names the annotation, and the object that has it */
export function strictly<T>(source: AnnotationSource, parse: (text: string) => T): T {
  try {
    return parse(source.value);
  } catch (thrown) {
    if (thrown instanceof MalformedValue) throw malformed(source, thrown.wanted, thrown.why);
    throw thrown;
  }
}

function toFamily(text: string): Family | undefined {
  return text === "IPv4" ? 4 : text === "IPv6" ? 6 : undefined;
}
