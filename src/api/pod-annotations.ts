/**
 * Annotations of Kubernetes objects that are ours: what users ask for, and what the plugin records. Here are the forms of their values,
 * which are read twice: strictly by an ADD, which refuses what is malformed, and as far as they can be read where an endpoint is shown,
 * for somebody may write them afterwards. A list counts as a whole or not at all.
 */

import { messageOf } from "../lib/errors.ts";
import { type Address, isLinkLocal, toAddressText, tryParseAddress } from "../lib/ip/address.ts";
import { tryParseCidr } from "../lib/ip/cidr.ts";
import { type Prefix, prefixOf, toPrefixText } from "../lib/ip/prefix.ts";
import { parseJson } from "../lib/json.ts";
import { quoteValue } from "../lib/quote.ts";
import type { EndpointNAT } from "./workload-endpoint.ts";

/** Begins the name of each. */
export const ANNOTATION_PREFIX = "cni.netplug.io/";

/** A value that cannot be used; a caller that refuses it adds which object has it. */
export class MalformedValue extends RangeError {
  override readonly name = "MalformedValue";
  readonly wanted: string;
  /** What exactly is wrong with it, where `wanted` leaves that open. */
  readonly why: string | undefined;

  constructor(wanted: string, why?: string) {
    super(`want ${wanted}`);
    this.wanted = wanted;
    this.why = why;
  }
}

/** A value in JSON. @param wanted for the error @throws {MalformedValue} */
export function parseValue(text: string, wanted: string): unknown {
  try {
    return parseJson(text, { maxDepth: 8 });
  } catch (error) {
    // Of what does not even begin as wanted, no place tells anything.
    throw new MalformedValue(wanted, /^\s*[[{]/.test(text) ? messageOf(error) : "it is no JSON");
  }
}

/**
 * A list in JSON.
 *
 * @param wanted for the error
 * @param toEntry undefined for text that is no entry
 * @throws {MalformedValue}
 */
export function parseList<T>(text: string, wanted: string, toEntry: (text: string) => T | undefined): readonly T[] {
  return toList(parseValue(text, wanted), wanted, toEntry);
}

/** As {@link parseList}, of what is parsed already. */
export function toList<T>(value: unknown, wanted: string, toEntry: (text: string) => T | undefined): readonly T[] {
  if (!Array.isArray(value)) throw new MalformedValue(wanted, `it is ${quoteValue(value)}`);
  return value.map((item: unknown, index) => {
    const entry = typeof item === "string" && item !== "" ? toEntry(item) : undefined;
    if (entry === undefined) throw new MalformedValue(wanted, `entry ${index + 1} is ${quoteValue(item)}`);
    return entry;
  });
}

/** Value of `floatingIPs`: any number of addresses; a repeated one counts once. @throws {MalformedValue} */
export function parseFloatingIPs(text: string): readonly Address[] {
  const wanted = 'a JSON list of addresses such as ["192.0.2.7"]';
  const addresses = parseList(text, wanted, tryParseAddress);
  if (addresses.length === 0) throw new MalformedValue(wanted);
  requireUnicast(addresses);
  return [...new Map(addresses.map((address) => [toAddressText(address), address])).values()];
}

/** Value of `allowedSourcePrefixes`; host bits are cleared, and a prefix that is repeated by then counts once. @throws {MalformedValue} */
export function parseSourcePrefixes(text: string): readonly Prefix[] {
  const prefixes = parseList(text, 'a JSON list of CIDRs such as ["192.0.2.0/24"]', (entry) => {
    const cidr = tryParseCidr(entry);
    return cidr === undefined ? undefined : prefixOf(cidr.address, cidr.length);
  });
  return [...new Map(prefixes.map((prefix) => [toPrefixText(prefix), prefix])).values()];
}

/** The entries of a list that an endpoint is shown with: none where the annotation is absent or malformed. */
export function parseShown<T>(parse: (text: string) => readonly T[], text: string | undefined): readonly T[] {
  try {
    return text === undefined ? [] : parse(text);
  } catch (thrown) {
    if (thrown instanceof MalformedValue) return [];
    throw thrown;
  }
}

/** Each floating address leads to the endpoint's own address of its family; one without such an address leads nowhere. */
export function toEndpointNATs(floatingIPs: readonly Address[], own: readonly Address[]): readonly EndpointNAT[] {
  return floatingIPs.flatMap((floating): readonly EndpointNAT[] => {
    const target = own.find(({ family }) => family === floating.family);
    return target === undefined ? [] : [{ internalIP: toAddressText(target), externalIP: toAddressText(floating) }];
  });
}

/** @throws {MalformedValue} for an address that an interface cannot have, or others cannot reach */
export function requireUnicast(addresses: readonly Address[]): void {
  const wrong = addresses.find((address) => !isUnicast(address));
  if (wrong !== undefined) throw new MalformedValue("addresses that a pod can have", `"${toAddressText(wrong)}" is none`);
}

/** Not unspecified, loopback, link-local, multicast or broadcast. */
function isUnicast(address: Address): boolean {
  if (isLinkLocal(address)) return false;
  if (address.family === 6) return address.value > 1n && address.value >> 120n !== 0xffn && address.value >> 32n !== 0xffffn;
  const first = Number(address.value >> 24n);
  return first !== 0 && first !== 127 && first < 224;
}
