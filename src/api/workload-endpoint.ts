/** Workload endpoints: the record of one interface of one container. */

import type { Address } from "../lib/ip/address.ts";
import { baseOf, type Prefix, tryParsePrefix } from "../lib/ip/prefix.ts";
import type { Resource } from "./resource.ts";

/** Who started the workload: Kubernetes, or a runtime by itself. */
export type Orchestrator = "k8s" | "cni";

/** Written by an ADD, removed by its DEL. CHECK learns from it which addresses are ours; `ipam check` compares it with the blocks. */
export interface WorkloadEndpointSpec {
  readonly orchestrator: Orchestrator;
  readonly node: string;
  /** `name` of the network config that it was made with. */
  readonly network?: string;
  readonly containerID?: string;
  /** Only with `k8s`. */
  readonly pod?: string;
  readonly serviceAccountName?: string;
  /** Name of the interface inside the container. */
  readonly endpoint: string;
  /** Name of the host side's interface. */
  readonly interfaceName?: string;
  /** MAC of the pod side. */
  readonly mac?: string;
  /** Each a /32 or /128. */
  readonly ipNetworks?: readonly string[];
  /** Floating addresses. */
  readonly ipNATs?: readonly EndpointNAT[];
  readonly ipv4Gateway?: string;
  readonly ipv6Gateway?: string;
  /** Names of profiles, in the order in which they are asked. */
  readonly profiles?: readonly string[];
  readonly ports?: readonly EndpointPort[];
  /** Prefixes that it may send from besides its own addresses. */
  readonly allowSpoofedSourcePrefixes?: readonly string[];
}

/** A floating IP: traffic to the external address goes to the internal one. For a node agent, which netplug does not have yet. */
export interface EndpointNAT {
  readonly internalIP: string;
  readonly externalIP: string;
}

/** A port that the pod declares, so that policies can name it. */
export interface EndpointPort {
  readonly name?: string;
  readonly protocol: "TCP" | "UDP" | "SCTP";
  /** 1..65535 */
  readonly port: number;
  readonly hostPort?: number;
  readonly hostIP?: string;
}

/** Named after node and workload, see `endpoint/names.ts`. On Kubernetes it is a view of the pod and its annotations. */
export type WorkloadEndpoint = Resource<"WorkloadEndpoint", WorkloadEndpointSpec>;

/** Annotation of an endpoint with addresses that netplug-ipam did not give, which need not lie in a pool; its value is `other`. */
export const ENDPOINT_IPAM = "netplug.io/ipam";

/** Labels that the system sets on endpoints. */
export const ENDPOINT_LABELS = {
  namespace: "netplug.io/namespace",
  orchestrator: "netplug.io/orchestrator",
  serviceAccount: "netplug.io/serviceaccount",
} as const;

/** The addresses that a record names, each a /32 or /128. In one that somebody wrote by hand, what is no address does not count. */
export function networksOf({ spec }: Pick<WorkloadEndpoint, "spec">): readonly Prefix[] {
  const listed: unknown = spec.ipNetworks;
  if (!Array.isArray(listed)) return [];
  const networks: Prefix[] = [];
  for (const entry of listed as readonly unknown[]) {
    const network = typeof entry === "string" ? tryParsePrefix(entry) : undefined;
    if (network !== undefined) networks.push(network);
  }
  return networks;
}

/** {@link networksOf}, without their lengths, which say nothing. */
export function recordedAddresses(record: Pick<WorkloadEndpoint, "spec">): readonly Address[] {
  return networksOf(record).map(baseOf);
}
