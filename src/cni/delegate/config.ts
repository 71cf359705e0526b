/** The network config as a delegate may see it: pure rewriting of the document. */

import type { Family } from "../../lib/ip/address.ts";
import { isJsonObject, type JsonObject } from "../../lib/json.ts";
import type { CniVerb } from "../protocol/versions.ts";
import { findRangeFault } from "./host-local.ts";
import { podCidrFamilyOf } from "./pod-cidr-keywords.ts";

const ANY_SUBNET: Readonly<Record<Family, string>> = { 4: "0.0.0.0/0", 6: "::/0" };

/** Verbs that go by container ID alone. @see the CNI project's `host-local`: its DEL and CHECK read the ranges, and do not look at them */
const VERBS_WITHOUT_RANGES: readonly CniVerb[] = ["DEL", "CHECK", "STATUS", "GC"];

/** Verbs that remove: a fault in a key that they do not need must not stop them. */
const REMOVING_VERBS: readonly CniVerb[] = ["DEL", "GC"];

/**
 * What `host-local` gets: ranges without `gateway` and routes without `gw` (every next hop is ours). Pod-CIDR keywords are resolved before an
 * ADD; the other verbs need not know the node. DEL and GC get only the keys that they need. Other delegates get the config unchanged, but for
 * a CHECK by `static`: that compares its gateways with `prevResult`, where our result has none.
 */
export function toDelegateConfig(verb: CniVerb, type: string, config: JsonObject): JsonObject {
  if (type === "static" && verb === "CHECK") return toStaticCheck(config);
  if (type !== "host-local") return config;
  if (REMOVING_VERBS.includes(verb)) return toRemovalConfig(config);
  const { ipam, runtimeConfig, ...rest } = config;
  const hasKeywords = VERBS_WITHOUT_RANGES.includes(verb) && isJsonObject(ipam) && podCidrFamiliesOf(ipam).length > 0;
  if (hasKeywords)
    return {
      ...rest,
      ipam: withAnyRanges(ipam),
      ...(isJsonObject(runtimeConfig) && { runtimeConfig: without(runtimeConfig, "ipRanges") }),
    };
  return {
    ...config,
    ...(isJsonObject(ipam) && { ipam: toHostLocalIpam(ipam) }),
    ...(isJsonObject(runtimeConfig) && { runtimeConfig: mapRanges(runtimeConfig, "ipRanges", withoutGateway) }),
  };
}

/**
 * Rewrites every range: in the old form `ipam` itself is one range, in the new one `ipam.ranges` is a list of lists of them.
 *
 * @param rewrite gets where the range is: `ipam`, `ipam.ranges[0][1]`
 */
export function mapIpamRanges(ipam: JsonObject, rewrite: (range: JsonObject, where: string) => JsonObject): JsonObject {
  return mapRanges(rewrite(ipam, "ipam"), "ranges", (range, where) => rewrite(range, `ipam.${where}`));
}

function toStaticCheck(config: JsonObject): JsonObject {
  const { ipam } = config;
  if (!isJsonObject(ipam) || !Array.isArray(ipam["addresses"])) return config;
  const addresses = ipam["addresses"].map((address: unknown) => (isJsonObject(address) ? withoutGateway(address) : address));
  return { ...config, ipam: { ...ipam, addresses } };
}

/** Without routes and requested addresses. `host-local` requires ranges even for DEL, so broken ones are replaced by any valid ones. */
function toRemovalConfig(config: JsonObject): JsonObject {
  const { ipam, runtimeConfig: _runtimeConfig, args: _args, ...rest } = config;
  if (!isJsonObject(ipam)) return config;
  const { routes: _routes, ...kept } = toHostLocalIpam(ipam);
  const isAnyRange = podCidrFamiliesOf(ipam).length > 0 || findRangeFault({ ipam }) !== undefined;
  return { ...rest, ipam: isAnyRange ? withAnyRanges(kept) : kept };
}

function toHostLocalIpam(ipam: JsonObject): JsonObject {
  const rewritten = mapIpamRanges(ipam, withoutGateway);
  return Array.isArray(rewritten["routes"]) ? { ...rewritten, routes: toRoutes(rewritten["routes"]) } : rewritten;
}

/** Without entries that lack `dst`: we ignore them, but `host-local` fails on one. */
function toRoutes(routes: readonly unknown[]): readonly unknown[] {
  const hasDestination = (route: unknown): boolean => !isJsonObject(route) || (route["dst"] ?? "") !== "";
  return routes.filter(hasDestination).map((route) => (isJsonObject(route) ? without(route, "gw") : route));
}

/** Families of the pod CIDRs that are asked for. */
function podCidrFamiliesOf(ipam: JsonObject): readonly Family[] {
  const families = new Set<Family>();
  mapIpamRanges(ipam, (range) => {
    const family = podCidrFamilyOf(range["subnet"]);
    if (family !== undefined) families.add(family);
    return range;
  });
  return [...families];
}

/** Replaces the ranges by valid ones: one for each family of the pod-CIDR keywords, or one of IPv4. */
function withAnyRanges(ipam: JsonObject): JsonObject {
  const { subnet: _subnet, rangeStart: _start, rangeEnd: _end, ...rest } = toHostLocalIpam(ipam);
  const families = podCidrFamiliesOf(ipam);
  return { ...rest, ranges: (families.length === 0 ? [4 as const] : families).map((family) => [{ subnet: ANY_SUBNET[family] }]) };
}

function mapRanges(holder: JsonObject, key: string, rewrite: (range: JsonObject, where: string) => JsonObject): JsonObject {
  const sets = holder[key];
  if (!Array.isArray(sets)) return holder;
  const rewriteSet = (set: unknown, i: number): unknown =>
    Array.isArray(set) ? set.map((range: unknown, j) => (isJsonObject(range) ? rewrite(range, `${key}[${i}][${j}]`) : range)) : set;
  return { ...holder, [key]: sets.map(rewriteSet) };
}

function withoutGateway(range: JsonObject): JsonObject {
  return without(range, "gateway");
}

function without(document: JsonObject, key: string): JsonObject {
  if (!(key in document)) return document;
  const { [key]: _, ...rest } = document;
  return rest;
}
