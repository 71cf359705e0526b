/** What the table of each kind shows. */

import { withIPAMConfigurationDefaults } from "../../api/ipam-configuration.ts";
import { type IPPoolSpec, withPoolDefaults } from "../../api/ip-pool.ts";
import type { KindInfo, Specs } from "../../api/registry.ts";
import type { Resource } from "../../api/resource.ts";
import type { BlockSpec } from "../resources/block-resource.ts";
import { toShortID } from "./container-id.ts";

/** A column of `get`: its heading, and what stands in it. */
export interface Column {
  readonly heading: string;
  /** Shown by `-o wide` only. */
  readonly wide?: true;
  cell(resource: Resource<string>): string;
}

type ColumnOf<S> = readonly [heading: string, cell: (spec: S, resource: Resource<string>) => unknown, wide?: "wide"];

const LABELS: Column = { heading: "LABELS", cell: ({ metadata }) => toLabelsText(metadata.labels) };

const NAME: ColumnOf<unknown> = ["NAME", (_, { metadata }) => metadata.name];

/** A pool that somebody wrote without a CIDR is shown nevertheless. */
const pool = (spec: IPPoolSpec): ReturnType<typeof withPoolDefaults> => withPoolDefaults({ ...spec, cidr: spec.cidr ?? "" });

const COLUMNS: { readonly [K in keyof Specs]: readonly ColumnOf<Specs[K]>[] } & { readonly IPAMBlock: readonly ColumnOf<BlockSpec>[] } = {
  IPPool: [
    NAME,
    ["CIDR", (spec) => spec.cidr],
    ["SELECTOR", (spec) => pool(spec).nodeSelector],
    ["NAMESPACES", (spec) => pool(spec).namespaceSelector, "wide"],
    ["PODS", (spec) => spec.podSelector, "wide"],
    ["NAT", (spec) => pool(spec).natOutgoing, "wide"],
    ["IPIPMODE", (spec) => pool(spec).ipipMode, "wide"],
    ["VXLANMODE", (spec) => pool(spec).vxlanMode, "wide"],
    ["BLOCKSIZE", (spec) => pool(spec).blockSize, "wide"],
    ["USES", (spec) => pool(spec).allowedUses, "wide"],
    ["ASSIGNMENT", (spec) => pool(spec).assignmentMode, "wide"],
    ["DISABLED", (spec) => pool(spec).disabled, "wide"],
    ["DISABLEBGPEXPORT", (spec) => pool(spec).disableBGPExport, "wide"],
  ],
  IPReservation: [NAME, ["RESERVED", (spec) => spec.reservedCIDRs]],
  IPAMConfiguration: [
    NAME,
    ["STRICTAFFINITY", (spec) => withIPAMConfigurationDefaults(spec).strictAffinity],
    ["AUTOALLOCATEBLOCKS", (spec) => withIPAMConfigurationDefaults(spec).autoAllocateBlocks],
    ["MAXBLOCKSPERHOST", (spec) => withIPAMConfigurationDefaults(spec).maxBlocksPerHost],
    ["COOLDOWN", (spec) => `${withIPAMConfigurationDefaults(spec).ipCooldownSeconds}s`],
  ],
  ClusterInformation: [
    NAME,
    ["GUID", (spec) => spec.clusterGUID],
    ["TYPE", (spec) => spec.clusterType],
    ["VERSION", (spec) => spec.netplugVersion],
    ["READY", (spec) => spec.datastoreReady === true],
    ["FROZEN", (spec) => spec.datastoreFrozen === true, "wide"],
  ],
  Node: [
    NAME,
    ["ASN", (spec) => spec.bgp?.asNumber, "wide"],
    ["IPV4", (spec) => spec.bgp?.ipv4Address, "wide"],
    ["IPV6", (spec) => spec.bgp?.ipv6Address, "wide"],
    [LABELS.heading, (_, resource) => LABELS.cell(resource), "wide"],
  ],
  Profile: [
    NAME,
    ["LABELS", (spec) => toLabelsText(spec.labelsToApply), "wide"],
    ["INGRESS", (spec) => spec.ingress?.length ?? 0, "wide"],
    ["EGRESS", (spec) => spec.egress?.length ?? 0, "wide"],
  ],
  Tier: [NAME, ["ORDER", (spec) => spec.order], ["DEFAULTACTION", (spec) => spec.defaultAction ?? "Deny"]],
  WorkloadEndpoint: [
    ["WORKLOAD", toWorkloadName],
    ["NODE", (spec) => spec.node],
    ["NETWORKS", (spec) => spec.ipNetworks],
    ["INTERFACE", (spec) => spec.interfaceName],
    ["NAME", (_, { metadata }) => metadata.name, "wide"],
    ["NETWORK", (spec) => spec.network, "wide"],
    ["CONTAINERID", (spec) => spec.containerID, "wide"],
    ["PROFILES", (spec) => spec.profiles, "wide"],
    ["MAC", (spec) => spec.mac, "wide"],
  ],
  IPAMBlock: [
    ["CIDR", (spec) => spec.cidr],
    ["NODE", (spec) => spec.node],
    ["INUSE", (spec) => spec.allocations.length],
    ["FREE", (spec) => spec.free],
    ["NAME", (_, { metadata }) => metadata.name, "wide"],
    ["RELEASED", (spec) => spec.released.length, "wide"],
    ["EMPTYSINCE", (spec) => spec.emptySince, "wide"],
  ],
};

/** What people call an endpoint. Written with etcdctl, its parts may have any shape. */
export function toWorkloadName({ pod, containerID }: { readonly pod?: unknown; readonly containerID?: unknown }): string {
  if (typeof pod === "string") return pod;
  return typeof containerID === "string" ? toShortID(containerID) : "";
}

/** Which columns are shown besides those that a kind always has. */
interface ColumnOptions {
  readonly wide: boolean;
  readonly withNamespace: boolean;
  readonly withLabels: boolean;
}

/** The columns of a kind, in order; the namespace comes first where several are shown. */
export function columnsOf(info: KindInfo, options: ColumnOptions): readonly Column[] {
  // Each list is asked with resources of its own kind only.
  const own = (COLUMNS[info.kind] as readonly ColumnOf<unknown>[]).map(([heading, cell, wide]): Column => {
    const column = { heading, cell: (resource: Resource<string>) => toCellText(cell(resource.spec, resource)) };
    return wide === undefined ? column : { ...column, wide: true };
  });
  const shown = own.filter((column) => options.wide || column.wide !== true);
  if (options.withLabels && !shown.some(({ heading }) => heading === LABELS.heading)) shown.push(LABELS);
  return options.withNamespace ? [{ heading: "NAMESPACE", cell: ({ metadata }) => metadata.namespace ?? "" }, ...shown] : shown;
}

/** A value in a cell: lists are joined, what is absent stays empty. */
export function toCellText(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (Array.isArray(value)) return value.map(toCellText).join(",");
  return typeof value === "string" ? value : JSON.stringify(value);
}

function toLabelsText(labels: Readonly<Record<string, string>> | undefined): string {
  return Object.entries(labels ?? {})
    .map(([key, value]) => (value === "" ? key : `${key}=${value}`))
    .join(",");
}
