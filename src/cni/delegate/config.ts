/** The network config as a delegate may see it: pure rewriting of the document. */

import { NetplugError } from "../../lib/errors.ts";
import { isJsonObject } from "../../lib/json.ts";
import { quoteValue } from "../../lib/quote.ts";
import type { DelegateVerb } from "./invoke.ts";

type Document = Readonly<Record<string, unknown>>;

/** Where a `host-local` range may take its subnet from the node instead. Lower case; written in any. */
const POD_CIDR_WORDS: ReadonlyMap<string, string> = new Map([
  ["usepodcidr", "0.0.0.0/0"],
  ["usepodcidripv6", "::/0"],
]);

/**
 * What `host-local` gets: ranges without `gateway` and routes without `gw` (every next hop is ours), pod-CIDR words resolved as
 * far as the verb needs. Other delegates get the config as it came.
 *
 * @throws NetplugError nodeCidrMissing on ADD and CHECK for a pod-CIDR word
 */
export function toDelegateConfig(verb: DelegateVerb, type: string, config: Document): Document {
  if (type !== "host-local") return config;
  const { ipam, runtimeConfig } = config;
  return {
    ...config,
    ...(isJsonObject(ipam) && { ipam: toHostLocalIpam(verb, ipam) }),
    ...(isJsonObject(runtimeConfig) && { runtimeConfig: mapRanges(runtimeConfig, "ipRanges", withoutGateway) }),
  };
}

/** `ipam` is a range itself in the old form, and holds a list of lists of ranges in the new one. */
function toHostLocalIpam(verb: DelegateVerb, ipam: Document): Document {
  const rewriteRange = (range: Document, where: string): Document => resolveWord(verb, withoutGateway(range), where);
  const rewritten = mapRanges(rewriteRange(ipam, "ipam"), "ranges", (range, where) => rewriteRange(range, `ipam.${where}`));
  return Array.isArray(rewritten["routes"]) ? { ...rewritten, routes: toRoutes(rewritten["routes"]) } : rewritten;
}

/** `host-local` stumbles over an entry without `dst`, which means nothing to us. */
function toRoutes(routes: readonly unknown[]): readonly unknown[] {
  const hasDestination = (route: unknown): boolean => !isJsonObject(route) || (route["dst"] ?? "") !== "";
  return routes.filter(hasDestination).map((route) => (isJsonObject(route) ? without(route, "gw") : route));
}

function mapRanges(holder: Document, key: string, rewrite: (range: Document, where: string) => Document): Document {
  const sets = holder[key];
  if (!Array.isArray(sets)) return holder;
  const rewriteSet = (set: unknown, i: number): unknown =>
    Array.isArray(set) ? set.map((range: unknown, j) => (isJsonObject(range) ? rewrite(range, `${key}[${i}][${j}]`) : range)) : set;
  return { ...holder, [key]: sets.map(rewriteSet) };
}

function resolveWord(verb: DelegateVerb, range: Document, where: string): Document {
  const { subnet } = range;
  const any = typeof subnet === "string" ? POD_CIDR_WORDS.get(subnet.toLowerCase()) : undefined;
  if (any === undefined) return range;
  if (verb === "ADD" || verb === "CHECK") {
    throw new NetplugError(
      "nodeCidrMissing",
      `resolve "${where}.subnet": got ${quoteValue(subnet)}, which needs the Kubernetes datastore to know the node's pod CIDR; write the CIDR itself`,
    );
  }
  // Releasing goes by container ID: any subnet that parses will do.
  return { ...range, subnet: any };
}

function withoutGateway(range: Document): Document {
  return without(range, "gateway");
}

function without(document: Document, key: string): Document {
  if (!(key in document)) return document;
  const { [key]: _, ...rest } = document;
  return rest;
}
