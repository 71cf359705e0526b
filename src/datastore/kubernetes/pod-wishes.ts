/**
 * What a pod asks for by annotation and its endpoint shows: floating addresses, and prefixes that it may send from. The plugin refuses an
 * ADD for what is malformed; what somebody writes afterwards counts as far as it can be read, a list as a whole or not at all.
 */

import { ANNOTATION_PREFIX } from "../../api/pod-annotations.ts";
import type { EndpointNAT } from "../../api/workload-endpoint.ts";
import { toAddressText, tryParseAddress } from "../../lib/ip/address.ts";
import { tryParseCidr } from "../../lib/ip/cidr.ts";
import { baseOf, blockOf, toPrefixText, tryParsePrefix } from "../../lib/ip/prefix.ts";
import { parseJson } from "../../lib/json.ts";

type Annotations = Readonly<Record<string, string>>;

const FLOATING = `${ANNOTATION_PREFIX}floatingIPs`;
const SOURCES = `${ANNOTATION_PREFIX}allowedSourcePrefixes`;

/** Each floating address leads to the endpoint's address of its family; one without such an address leads nowhere. */
export function toEndpointNATs(annotations: Annotations, networks: readonly string[]): readonly EndpointNAT[] {
  const floating = readList(annotations[FLOATING], tryParseAddress);
  if (floating.length === 0) return [];
  const own = networks.flatMap((text) => {
    const network = tryParsePrefix(text);
    return network === undefined ? [] : [baseOf(network)];
  });
  const external = new Map(floating.map((address) => [toAddressText(address), address]));
  return [...external].flatMap(([externalIP, { family }]): readonly EndpointNAT[] => {
    const target = own.find((address) => address.family === family);
    return target === undefined ? [] : [{ internalIP: toAddressText(target), externalIP }];
  });
}

/** Host bits do not count. */
export function toSourcePrefixes(annotations: Annotations): readonly string[] {
  return readList(annotations[SOURCES], tryParseCidr).map(({ address, length }) => toPrefixText(blockOf(address, length)));
}

function readList<T>(text: string | undefined, toEntry: (entry: string) => T | undefined): readonly T[] {
  if (text === undefined) return [];
  let value: unknown;
  try {
    value = parseJson(text, { maxDepth: 8 });
  } catch {
    return [];
  }
  if (!Array.isArray(value)) return [];
  const entries = value.map((entry: unknown) => (typeof entry === "string" ? toEntry(entry) : undefined));
  return entries.includes(undefined) ? [] : entries.filter((entry) => entry !== undefined);
}
