/** The records of an attachment in the datastore: its `WorkloadEndpoint`, and its network's profile. */

import type { Profile } from "../api/profile.ts";
import { API_VERSION, DEFAULT_NAMESPACE } from "../api/resource.ts";
import { ENDPOINT_IPAM, ENDPOINT_LABELS, type WorkloadEndpoint } from "../api/workload-endpoint.ts";
import type { ResourceRef } from "../datastore/datastore.ts";
import { isLabelValue } from "../lib/characters.ts";
import type { Address } from "../lib/ip/address.ts";
import { sha1Hex } from "../lib/hash.ts";
import { toHostPrefix, toPrefixText } from "../lib/ip/prefix.ts";
import { orchestratorOf, toEndpointName, toHostName, type Workload } from "./names.ts";

/** The attachment that a record is of. */
export interface EndpointSubject {
  readonly node: string;
  /** `name` of the network config. */
  readonly network: string;
  readonly workload: Workload;
  /** `args.cni.labels`. */
  readonly labels: Readonly<Record<string, string>>;
  /** Whether the addresses are not of netplug-ipam: another plugin manages them, or nobody. @default false */
  readonly hasOtherIpam?: boolean;
}

/** The namespace of a workload: its pod's, else the one that its labels name, else `default`. */
export function toNamespace(workload: Workload, labels: Readonly<Record<string, string>>): string {
  return workload.pod?.namespace ?? labels[ENDPOINT_LABELS.namespace] ?? DEFAULT_NAMESPACE;
}

/** Asks for one record. */
export interface RecordQuery {
  readonly type: "get";
  readonly ref: ResourceRef & { readonly kind: "WorkloadEndpoint" };
}

/** The query for one endpoint's record. */
export function toRecordQuery({ namespace, name }: Pick<ResourceRef, "namespace" | "name">): RecordQuery {
  return { type: "get", ref: { kind: "WorkloadEndpoint", ...(namespace !== undefined && { namespace }), name } };
}

/** Asks for the record that has an attachment's name. */
export function recordQueryOf({ node, workload, labels }: Omit<EndpointSubject, "network">): RecordQuery {
  return toRecordQuery({ namespace: toNamespace(workload, labels), name: toEndpointName(node, workload) });
}

/** Whether a record is of a network, as far as it says: one that is a view of a pod names none, and may be of any. */
export function mayBeOf({ spec }: WorkloadEndpoint, network: string): boolean {
  return (spec.network ?? network) === network;
}

/** The record that policy and routing are computed from. */
export function toWorkloadEndpoint(subject: EndpointSubject, podMac: string, addresses: readonly Address[]): WorkloadEndpoint {
  const { node, network, workload, labels, hasOtherIpam = false } = subject;
  const namespace = toNamespace(workload, labels);
  const orchestrator = orchestratorOf(workload);
  return {
    apiVersion: API_VERSION,
    kind: "WorkloadEndpoint",
    metadata: {
      name: toEndpointName(node, workload),
      namespace,
      labels: { ...labels, [ENDPOINT_LABELS.namespace]: namespace, [ENDPOINT_LABELS.orchestrator]: orchestrator },
      ...(hasOtherIpam && { annotations: { [ENDPOINT_IPAM]: "other" } }),
    },
    spec: {
      orchestrator,
      node,
      network,
      containerID: workload.containerID,
      ...(workload.pod === undefined ? {} : { pod: workload.pod.name }),
      endpoint: workload.ifName,
      interfaceName: toHostName(workload),
      mac: podMac,
      ipNetworks: addresses.map((address) => toPrefixText(toHostPrefix(address))),
      profiles: [network],
    },
  };
}

/**
 * The profile of a network without Kubernetes policy, for the first attachment that finds none. A generic workload may be
 * reached from its own network; a pod, whose Kubernetes peers do not carry the network's label, by all.
 */
export function toNetworkProfile(network: string, workload: Workload): Profile {
  const label = toNetworkLabel(network);
  const fromNetwork = { action: "Allow", source: { selector: `has(${label})` } } as const;
  return {
    apiVersion: API_VERSION,
    kind: "Profile",
    metadata: { name: network },
    spec: {
      ingress: [workload.pod === undefined ? fromNetwork : { action: "Allow" }],
      egress: [{ action: "Allow" }],
      labelsToApply: { [label]: "" },
    },
  };
}

/** Label of all endpoints of a network: its name, or a hash where CNI allows a name that no label can have. */
function toNetworkLabel(network: string): string {
  return isLabelValue(network) ? network : `network-${sha1Hex(network)}`;
}
