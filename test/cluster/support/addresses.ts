/** Addresses as kubectl shows them: those that blocks have given away, and those that pods have. */

import { expect } from "bun:test";
import ipaddr from "ipaddr.js";
import { mustNetplugctl } from "../../support/cli/netplugctl.ts";
import type { Cluster } from "./cluster.ts";
import { kubernetesAccess } from "./datastores.ts";
import { addressesInUseOf, type BlockRecord } from "../../support/servers/block-record.ts";
import { eventually } from "../../support/time/eventually.ts";

interface List<T> {
  readonly items: readonly T[];
}

interface BlockObject {
  readonly spec: { readonly cidr: string; readonly node: string; readonly allocations: string };
}

interface PodObject {
  readonly status: { readonly phase: string; readonly podIPs?: readonly { readonly ip: string }[] };
}

/**
 * Those of IPAMBlocks that are not free, by the text that the blocks have in the API server; sorted.
 *
 * @param ofNode only of blocks that this node owns. @default all blocks
 */
export async function addressesInBlocks(cluster: Cluster, ofNode?: string): Promise<readonly string[]> {
  const { items } = JSON.parse(await cluster.kubectl(["get", "ipamblocks.netplug.io", "-o", "json"])) as List<BlockObject>;
  const owned = items.filter(({ spec }) => ofNode === undefined || spec.node === ofNode);
  return owned.flatMap(({ spec }) => addressesOf(spec)).sort();
}

function addressesOf({ cidr, allocations }: BlockObject["spec"]): readonly string[] {
  const { free } = JSON.parse(allocations) as BlockRecord;
  return addressesInUseOf({ cidr, free });
}

/** Those of all pods of the cluster that have not ended, as the kubelet heard them from the plugin; sorted. */
export async function addressesOfPods(cluster: Cluster): Promise<readonly string[]> {
  const { items } = JSON.parse(await cluster.kubectl(["get", "pods", "--all-namespaces", "-o", "json"])) as List<PodObject>;
  return items
    .filter(({ status }) => status.phase !== "Succeeded" && status.phase !== "Failed")
    .flatMap(({ status }) => (status.podIPs ?? []).map(({ ip }) => ipaddr.parse(ip).toString()))
    .sort();
}

/** Waits until blocks and pods have the same addresses and `ipam check` finds nothing. @returns the addresses @throws what differs */
export async function untilAddressesAgree(cluster: Cluster, count?: number): Promise<readonly string[]> {
  return await eventually(async () => {
    const addresses = await addressesInBlocks(cluster);
    expect(addresses).toEqual(await addressesOfPods(cluster));
    if (count !== undefined) expect(addresses).toHaveLength(count);
    expect(await mustNetplugctl(kubernetesAccess(cluster), ["ipam", "check"])).toContain("found 0 problems");
    return addresses;
  }, 180_000);
}
