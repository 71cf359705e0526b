/** What an attachment is called: on the host, in the datastore. */

import { joinEndpointName, toHostSideName } from "../api/endpoint-names.ts";
import type { AttachmentId } from "../api/ipam-block.ts";
import type { Metadata } from "../api/resource.ts";
import type { Orchestrator } from "../api/workload-endpoint.ts";
import { isLabelValue } from "../lib/characters.ts";

/** The pod that the runtime names in `CNI_ARGS`. */
export interface PodIdentity {
  readonly namespace: string;
  readonly name: string;
  readonly uid?: string;
}

/** The UID under which kubelet and runtime know a pod; a static pod's copy in the API server has another one. */
export function runtimeUidOf({ annotations, uid }: Pick<Metadata, "annotations" | "uid">): string | undefined {
  return annotations?.["kubernetes.io/config.mirror"] ?? uid;
}

/** Who is called: a pod, or a container that no orchestrator names. */
export interface Workload {
  readonly containerID: string;
  /** `CNI_IFNAME`. */
  readonly ifName: string;
  readonly pod: PodIdentity | undefined;
}

/** Name of the host side. */
export function toHostName({ pod, containerID, ifName }: Workload): string {
  return toHostSideName(pod === undefined ? containerID : `${pod.namespace}.${pod.name}`, ifName);
}

/** `ifalias` of the host side: tells DEL and GC whose interface it is. */
export function toAlias(network: string, workload: Pick<Workload, "containerID" | "ifName">): string {
  return `netplug:${network}:${workload.containerID}:${workload.ifName}`;
}

/** None of the parts can hold a colon: CNI's patterns allow none. */
const ALIAS = /^netplug:([^:]+):([^:]+):([^:]+)$/;

/** The inverse of {@link toAlias}. @returns undefined for an alias that is not ours */
export function parseAlias(alias: string): AttachmentId | undefined {
  const [, network, containerID, ifName] = ALIAS.exec(alias) ?? [];
  return network === undefined || containerID === undefined || ifName === undefined ? undefined : { network, containerID, ifName };
}

/** What {@link isNodeName} wants, for messages. */
export const NODE_NAME = 'letters, digits, ".", "_" and "-", a letter or digit first and last, at most 253';

/** Whether a node may be called so: the name becomes a part of keys and of the names of records. */
export function isNodeName(text: string): boolean {
  return isLabelValue(text, 253);
}

/** Kubernetes for a workload that names its pod. */
export function orchestratorOf(workload: Workload): Orchestrator {
  return workload.pod === undefined ? "cni" : "k8s";
}

/** Name of the `WorkloadEndpoint`. */
export function toEndpointName(node: string, workload: Workload): string {
  return joinEndpointName(node, orchestratorOf(workload), workload.pod?.name ?? workload.containerID, workload.ifName);
}
