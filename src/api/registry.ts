/** The table of kinds: what they are called, where they live, what of them never changes. */

import type { ClusterInformationSpec } from "./cluster-information.ts";
import type { IPAMConfigurationSpec } from "./ipam-configuration.ts";
import type { IPPoolSpec } from "./ip-pool.ts";
import type { IPReservationSpec } from "./ip-reservation.ts";
import type { NodeSpec } from "./node.ts";
import type { ProfileSpec } from "./profile.ts";
import type { Kind, Resource } from "./resource.ts";
import type { TierSpec } from "./tier.ts";
import type { WorkloadEndpointSpec } from "./workload-endpoint.ts";

/** The spec of each kind. */
export interface Specs {
  readonly IPPool: IPPoolSpec;
  readonly IPReservation: IPReservationSpec;
  readonly IPAMConfiguration: IPAMConfigurationSpec;
  readonly ClusterInformation: ClusterInformationSpec;
  readonly Node: NodeSpec;
  readonly Profile: ProfileSpec;
  readonly Tier: TierSpec;
  readonly WorkloadEndpoint: WorkloadEndpointSpec;
}

/** A resource of one of our kinds, told apart by `kind`. */
export type AnyResource = { readonly [K in Kind]: Resource<K, Specs[K]> }[Kind];

/** How a kind is named, and where its objects are. */
export interface KindInfo<K extends string = Kind | "IPAMBlock"> {
  readonly kind: K;
  /** Lower case; the name of its collection in datastores and on the command line. */
  readonly plural: string;
  /** Besides kind and plural, in lower case. */
  readonly shortNames: readonly string[];
  readonly namespaced: boolean;
  /** Only an object of this name exists. */
  readonly singleton?: string;
  /** Fields that keep their first value, as paths inside `spec`. */
  readonly immutable: readonly string[];
}

/** Every kind that people may write. */
export const KINDS: { readonly [K in Kind]: KindInfo<K> } = {
  IPPool: {
    kind: "IPPool",
    plural: "ippools",
    shortNames: ["ipp", "ipps", "pool", "pools"],
    namespaced: false,
    immutable: ["cidr", "blockSize"],
  },
  IPReservation: { kind: "IPReservation", plural: "ipreservations", shortNames: ["ipr", "iprs"], namespaced: false, immutable: [] },
  IPAMConfiguration: {
    kind: "IPAMConfiguration",
    plural: "ipamconfigurations",
    shortNames: ["ipamconfig", "ipamconfigs"],
    namespaced: false,
    singleton: "default",
    immutable: [],
  },
  ClusterInformation: {
    kind: "ClusterInformation",
    plural: "clusterinformations",
    shortNames: ["clusterinfo", "clusterinfos"],
    namespaced: false,
    singleton: "default",
    immutable: ["clusterGUID"],
  },
  Node: { kind: "Node", plural: "nodes", shortNames: ["no", "nos"], namespaced: false, immutable: [] },
  Profile: { kind: "Profile", plural: "profiles", shortNames: ["pro", "pros"], namespaced: false, immutable: [] },
  Tier: { kind: "Tier", plural: "tiers", shortNames: [], namespaced: false, immutable: [] },
  WorkloadEndpoint: { kind: "WorkloadEndpoint", plural: "workloadendpoints", shortNames: ["wep", "weps"], namespaced: true, immutable: [] },
};

/** Blocks, shown like a resource and written by the system only. */
export const BLOCK_KIND: KindInfo<"IPAMBlock"> = {
  kind: "IPAMBlock",
  plural: "ipamblocks",
  shortNames: ["block", "blocks"],
  namespaced: false,
  immutable: [],
};

/** All kinds with what they may be called, in the order in which they are listed to people. */
export const ALL_KINDS: readonly KindInfo[] = [...Object.values(KINDS), BLOCK_KIND];

/**
 * Finds a kind by what people call it: kind, plural or short name, in any case.
 *
 * @returns undefined for a word that names no kind
 */
export function kindOf(word: string): KindInfo | undefined {
  const wanted = word.toLowerCase();
  return ALL_KINDS.find((info) => info.kind.toLowerCase() === wanted || info.plural === wanted || info.shortNames.includes(wanted));
}
