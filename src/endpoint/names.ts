/** What an attachment is called: on the host, in the datastore. */

import { sha1Hex } from "../lib/hash.ts";

/** The pod that the runtime names in `CNI_ARGS`. */
export interface PodIdentity {
  readonly namespace: string;
  readonly name: string;
  readonly uid?: string;
}

/** Who is called: a pod, or a container that no orchestrator names. */
export interface Workload {
  readonly containerID: string;
  /** `CNI_IFNAME`. */
  readonly ifName: string;
  readonly pod: PodIdentity | undefined;
}

/** First letters of every host side that is ours. */
export const HOST_PREFIX = "npg";

/** The interface whose name leaves no trace in the host side's name. */
const FIRST_INTERFACE = "eth0";

/** Name of the host side: 3 letters and 11 hexadecimal digits, within the kernel's limit of 15 characters. */
export function toHostName(workload: Workload): string {
  const owner = workload.pod === undefined ? workload.containerID : `${workload.pod.namespace}.${workload.pod.name}`;
  const text = workload.ifName === FIRST_INTERFACE ? owner : `${owner}.${workload.ifName}`;
  return HOST_PREFIX + sha1Hex(text).slice(0, 11);
}

/** `ifalias` of the host side: tells DEL and GC whose interface it is. */
export function toAlias(network: string, workload: Pick<Workload, "containerID" | "ifName">): string {
  return `netplug:${network}:${workload.containerID}:${workload.ifName}`;
}

export type Orchestrator = "k8s" | "cni";

export function orchestratorOf(workload: Workload): Orchestrator {
  return workload.pod === undefined ? "cni" : "k8s";
}

/** Name of the `WorkloadEndpoint`: its parts joined by `-`, with every `-` inside a part doubled, so that it can be taken apart again. */
export function toEndpointName(node: string, workload: Workload): string {
  const parts = [node, orchestratorOf(workload), workload.pod?.name ?? workload.containerID, workload.ifName];
  return parts.map((part) => part.replaceAll("-", "--")).join("-");
}
