/** Addresses that are not of our own management: no pool holds them, and none need. */

import type { NodeSpec } from "../../../api/node.ts";
import type { Resource } from "../../../api/resource.ts";
import { ANNOTATION_PREFIX } from "../../../api/pod-annotations.ts";
import { ENDPOINT_IPAM, type WorkloadEndpoint } from "../../../api/workload-endpoint.ts";
import type { Address } from "../../../lib/ip/address.ts";
import { equalAddresses, tryParseAddress } from "../../../lib/ip/address.ts";
import { tryParsePrefix } from "../../../lib/ip/prefix.ts";
import { prefixSetOf, type PrefixSet } from "../../../lib/ip/prefix-set.ts";
import { tryParseForeignJson } from "../../../lib/json.ts";

/** By the node's name: what `host-local` with the node's pod CIDRs gives addresses from. */
export type PodCidrs = ReadonlyMap<string, PrefixSet>;

/** Entries that are no CIDR are left out. */
export function podCidrsByNode(nodes: readonly Resource[]): PodCidrs {
  return new Map(
    nodes.map(({ metadata, spec }) => {
      const { podCIDRs } = spec as NodeSpec;
      const prefixes = Array.isArray(podCIDRs) ? podCIDRs.map((cidr) => tryParsePrefix(String(cidr))) : [];
      return [metadata.name, prefixSetOf(prefixes.filter((prefix) => prefix !== undefined))];
    }),
  );
}

/**
 * Whether an endpoint has an address from elsewhere. On etcd its record says so. On Kubernetes, where there is no room for that in a pod,
 * the address is of the node's pod CIDRs, or the pod asked for it without address management, or no container of ours has had the interface:
 * another network plugin made it, such as the cluster's own when ours adds a second one.
 */
export function isManagedElsewhere({ metadata, spec }: WorkloadEndpoint, address: Address, podCidrs: PodCidrs): boolean {
  const { annotations = {} } = metadata;
  if (spec.containerID === undefined) return true;
  if (annotations[ENDPOINT_IPAM] !== undefined || podCidrs.get(spec.node)?.has(address) === true) return true;
  return readTexts(annotations[`${ANNOTATION_PREFIX}ipAddrsNoIpam`]).some((one) => {
    const wanted = tryParseAddress(one);
    return wanted !== undefined && equalAddresses(wanted, address);
  });
}

function readTexts(json: string | undefined): readonly string[] {
  const value = tryParseForeignJson(json ?? "");
  return Array.isArray(value) ? value.filter((entry) => typeof entry === "string") : [];
}
