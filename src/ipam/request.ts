/** What somebody wants from address management. */

import type { AllocationOwner } from "../api/ipam-block.ts";
import type { Address, Family } from "../lib/ip/address.ts";

/** What an address is for; pools say which they allow. */
export type Use = "Workload" | "Tunnel";

/** The addresses that one attachment, or one tunnel, asks for. */
export interface AddressRequest {
  readonly owner: AllocationOwner;
  readonly use: Use;
  /** One address of each of these families; all or nothing. Ignored when `addresses` is not empty. */
  readonly families: readonly Family[];
  /** Names or CIDRs of the only pools to use, in this order; undefined: all that select node, namespace and pod. */
  readonly pools: Readonly<Partial<Record<Family, readonly string[]>>>;
  /** @default nothing is said */
  readonly namedBy?: NamedBy | undefined;
  /** Exactly these addresses: the complete list. */
  readonly addresses: readonly Address[];
  /** For `namespaceSelector`; without a Kubernetes namespace it is evaluated against no labels. */
  readonly namespaceLabels: Readonly<Record<string, string>>;
  /** For `podSelector`: the pod's own; without a pod of Kubernetes it is evaluated against no labels. */
  readonly podLabels: Readonly<Record<string, string>>;
}

/** Where the pools of a family, families and addresses are named, for messages: `annotation "…" of namespace "shop"`. */
export type NamedBy = Readonly<Partial<Record<Family | "families" | "addresses", string | undefined>>>;

/** An attachment, as the runtime names it within a network. */
export interface Attachment {
  readonly containerID: string;
  readonly ifName: string;
}

/** Tells attachments of one network apart, whatever somebody wrote into a record. */
export function attachmentKeyOf({ containerID, ifName }: Attachment): string {
  return JSON.stringify([containerID, ifName]);
}
