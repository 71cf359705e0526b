/** IP pools: where addresses come from. */

import type { Resource } from "./resource.ts";

/** When traffic between nodes is wrapped: never, always, or only across subnets. */
export type EncapsulationMode = "Never" | "Always" | "CrossSubnet";

/** What a pool's addresses may be given to. */
export type AllowedUse = "Workload" | "Tunnel" | "LoadBalancer";

/** `Manual`: used only by who names the pool. */
export type AssignmentMode = "Automatic" | "Manual";

/** What an administrator writes. What it leaves out counts as {@link withPoolDefaults} says. */
export interface IPPoolSpec {
  /** Without host bits; cannot be changed. */
  readonly cidr: string;
  /** @default "Never" */
  readonly vxlanMode?: EncapsulationMode;
  /** IPv4 only, and not together with `vxlanMode`. @default "Never" */
  readonly ipipMode?: EncapsulationMode;
  /** Whether traffic to addresses outside all pools leaves with the node's address. @default false */
  readonly natOutgoing?: boolean;
  /** Whether nothing new is given from it; running workloads keep what they have. @default false */
  readonly disabled?: boolean;
  /** @default false */
  readonly disableBGPExport?: boolean;
  /** Prefix length of its blocks: 20..32 or 116..128; 0 is the default; cannot be changed. @default 26 or 122 */
  readonly blockSize?: number;
  /** Nodes that use it. @default "all()" */
  readonly nodeSelector?: string;
  /** Kubernetes namespaces that use it; empty: any. @default "" */
  readonly namespaceSelector?: string;
  /** Pods of Kubernetes that use it; absent or empty: any. It has no default, so that pools without one are stored and shown without it. */
  readonly podSelector?: string;
  /** @default ["Workload", "Tunnel"], or ["Workload"] with a `namespaceSelector` or `podSelector`: tunnels have no namespace and no pod */
  readonly allowedUses?: readonly AllowedUse[];
  /** @default "Automatic" */
  readonly assignmentMode?: AssignmentMode;
}

/** A pool as it is stored: objects that did not come by netplugctl may lack even their `cidr`. */
export type IPPool = Resource<"IPPool", IPPoolSpec>;

/** A pool's spec with every default applied. */
export type CompleteIPPoolSpec = Required<Omit<IPPoolSpec, "podSelector">> & Pick<IPPoolSpec, "podSelector">;

/** Prefix lengths that blocks may have. */
export const BLOCK_SIZE_LIMITS = { 4: { min: 20, max: 32, default: 26 }, 6: { min: 116, max: 128, default: 122 } } as const;

const DEFAULTS = {
  vxlanMode: "Never",
  ipipMode: "Never",
  natOutgoing: false,
  disabled: false,
  disableBGPExport: false,
  nodeSelector: "all()",
  namespaceSelector: "",
  allowedUses: ["Workload", "Tunnel"],
  assignmentMode: "Automatic",
} as const satisfies Omit<CompleteIPPoolSpec, "cidr" | "blockSize" | "podSelector">;

/** Applies the defaults when a pool is read: objects written with kubectl or etcdctl lack them. */
export function withPoolDefaults(spec: IPPoolSpec): CompleteIPPoolSpec {
  const limits = BLOCK_SIZE_LIMITS[spec.cidr.includes(":") ? 6 : 4];
  const { cidr, ...given } = spec;
  const complete = { cidr, ...DEFAULTS, ...given };
  return {
    ...complete,
    blockSize: spec.blockSize === undefined || spec.blockSize === 0 ? limits.default : spec.blockSize,
    nodeSelector: spec.nodeSelector === undefined || spec.nodeSelector === "" ? DEFAULTS.nodeSelector : spec.nodeSelector,
    allowedUses: spec.allowedUses === undefined || spec.allowedUses.length === 0 ? defaultUses(spec) : spec.allowedUses,
  };
}

function defaultUses({ namespaceSelector = "", podSelector = "" }: IPPoolSpec): readonly AllowedUse[] {
  return namespaceSelector === "" && podSelector === "" ? DEFAULTS.allowedUses : ["Workload"];
}
