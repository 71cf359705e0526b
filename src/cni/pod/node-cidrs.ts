/** The node's pod CIDRs in the config of `host-local`: `usePodCidr` and `usePodCidrIPv6`, only where a subnet is wanted. */

import type { KubeClient } from "../../kube/client.ts";
import { type Node, NODES, podCidrsOf } from "../../kube/core-types.ts";
import { NetplugError } from "../../lib/errors.ts";
import type { Family } from "../../lib/ip/address.ts";
import { tryParsePrefix } from "../../lib/ip/prefix.ts";
import { isJsonObject, type JsonObject } from "../../lib/json.ts";
import { quote, quoteValue } from "../../lib/quote.ts";
import type { Call } from "../call.ts";
import { mapIpamRanges } from "../delegate/config.ts";
import { podCidrFamilyOf } from "../delegate/pod-cidr-keywords.ts";

/**
 * The network config with subnets in place of the pod-CIDR keywords.
 *
 * @throws NetplugError invalidConfig for a keyword where no subnet is wanted; nodeCidrMissing; accessDenied, tryAgainLater
 */
export async function toConfigWithPodCidrs({ config, node: ownName }: Call, client: KubeClient, signal: AbortSignal): Promise<JsonObject> {
  const { raw } = config;
  const { ipam } = raw;
  if (!isJsonObject(ipam) || !usesKeywords(ipam)) return raw;
  const name = config.kubernetes.nodeName ?? ownName;
  const node = await client.get(NODES, { name }, { signal });
  if (node === undefined) {
    throw new NetplugError(
      "nodeCidrMissing",
      `find node ${quote(name)}: the API server has no such node; set "kubernetes.node_name" to the name that it has there`,
    );
  }
  return { ...raw, ipam: mapIpamRanges(ipam, (range, where) => resolveSubnet(range, where, name, node)) };
}

/** @throws NetplugError invalidConfig */
function usesKeywords(ipam: JsonObject): boolean {
  let isUsed = false;
  mapIpamRanges(ipam, (range, where) => {
    for (const key of ["rangeStart", "rangeEnd"]) requireNoKeyword(range[key], `${where}.${key}`);
    isUsed ||= podCidrFamilyOf(range["subnet"]) !== undefined;
    return range;
  });
  return isUsed;
}

function requireNoKeyword(value: unknown, where: string): void {
  if (podCidrFamilyOf(value) === undefined) return;
  throw new NetplugError("invalidConfig", `read "${where}": got ${quoteValue(value)}, which is a value of "subnet" only; want an address`);
}

function resolveSubnet(range: JsonObject, where: string, name: string, node: Node): JsonObject {
  const { subnet } = range;
  const family = podCidrFamilyOf(subnet);
  if (family === undefined) return range;
  const cidrs = podCidrsOf(node);
  const cidr = cidrs.find((text) => isOfFamily(text, family));
  if (cidr !== undefined) return { ...range, subnet: cidr };
  const found = cidrs.length === 0 ? "none" : cidrs.map(quote).join(", ");
  throw new NetplugError(
    "nodeCidrMissing",
    `resolve "${where}.subnet" ${quoteValue(subnet)}: node ${quote(name)} has no IPv${family} pod CIDR; its pod CIDRs are ${found}`,
  );
}

function isOfFamily(text: string, family: Family): boolean {
  return tryParsePrefix(text)?.family === family;
}
