/** Fields of an endpoint that come from annotations of its pod: floating addresses, and prefixes that it may send from. */

import { ANNOTATION_PREFIX, parseFloatingIPs, parseShown, parseSourcePrefixes, toEndpointNATs } from "../../../api/pod-annotations.ts";
import type { EndpointNAT } from "../../../api/workload-endpoint.ts";
import { baseOf, toPrefixText, tryParsePrefix } from "../../../lib/ip/prefix.ts";

type Annotations = Readonly<Record<string, string>>;

const FLOATING = `${ANNOTATION_PREFIX}floatingIPs`;
const SOURCES = `${ANNOTATION_PREFIX}allowedSourcePrefixes`;

/** @param networks the endpoint's addresses */
export function toShownNATs(annotations: Annotations, networks: readonly string[]): readonly EndpointNAT[] {
  const floating = parseShown(parseFloatingIPs, annotations[FLOATING]);
  if (floating.length === 0) return [];
  const own = networks.flatMap((text) => {
    const network = tryParsePrefix(text);
    return network === undefined ? [] : [baseOf(network)];
  });
  return toEndpointNATs(floating, own);
}

/** Prefixes besides its own addresses. */
export function toShownSources(annotations: Annotations): readonly string[] {
  return parseShown(parseSourcePrefixes, annotations[SOURCES]).map(toPrefixText);
}
