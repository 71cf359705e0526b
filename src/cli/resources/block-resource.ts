/** Address blocks in the form of a resource, to be read only. */

import type { Allocation, AllocationOwner, Block } from "../../api/ipam-block.ts";
import { API_VERSION, type Resource } from "../../api/resource.ts";
import type { Datastore, Stored } from "../../datastore/datastore.ts";
import { toBlockName } from "../../datastore/kubernetes/objects/block-name.ts";
import { toTimeText } from "../../lib/time-text.ts";
import { toAddressText } from "../../lib/ip/address.ts";
import { addressAt, type Prefix, toPrefixText } from "../../lib/ip/prefix.ts";

/** What `get ipamblocks` shows of a block: the same on every datastore, whatever form it is stored in. */
export interface BlockSpec {
  readonly cidr: string;
  readonly node: string;
  readonly allocations: readonly BlockAllocation[];
  /** How many addresses nobody has, those that cool down included. */
  readonly free: number;
  /** Addresses that were released and may still be cooling down. */
  readonly released: readonly { readonly ip: string; readonly at: string }[];
  readonly emptySince?: string;
}

/** An address with its owner. */
export interface BlockAllocation extends AllocationOwner {
  readonly ip: string;
  readonly since: string;
}

/** The name of a block as netplugctl shows it, a function of its CIDR: `10.65.0.0/26` is `10-65-0-0-26`; on Kubernetes it is that of the object there. */
export function toShownBlockName(cidr: Prefix, datastore: Datastore["type"]): string {
  return datastore === "kubernetes" ? toBlockName(cidr) : toPrefixText(cidr).replaceAll(/[.:/]/g, "-");
}

/** The block with the text of each address in place of its ordinal. */
export function toBlockResource({ value: block, revision }: Stored<Block>, datastore: Datastore["type"]): Resource<"IPAMBlock", BlockSpec> {
  const ipOf = (ordinal: number): string => toAddressText(addressAt(block.cidr, ordinal));
  const toAllocation = ({ ordinal, owner, since }: Allocation): BlockAllocation => ({
    ip: ipOf(ordinal),
    ...owner,
    since: toTimeText(since),
  });
  return {
    apiVersion: API_VERSION,
    kind: "IPAMBlock",
    metadata: { name: toShownBlockName(block.cidr, datastore), resourceVersion: revision },
    spec: {
      cidr: toPrefixText(block.cidr),
      node: block.node,
      allocations: block.allocations.map(toAllocation),
      free: block.free.length,
      released: [...block.releasedAt].map(([ordinal, at]) => ({ ip: ipOf(ordinal), at: toTimeText(at) })),
      ...(block.emptySince === undefined ? {} : { emptySince: toTimeText(block.emptySince) }),
    },
  };
}
