/** Records that are not a pod's own: a backup, or a manifest made from another pod, has brought that pod's annotations along. */

import type { AllocationOwner } from "../../../api/ipam-block.ts";
import type { WorkloadEndpoint } from "../../../api/workload-endpoint.ts";
import { isMirror } from "./gone-pods.ts";

/**
 * Whether an endpoint's address is allocated to the container that its record names, and that container is another pod's: its own ADD is to come.
 * Once the address is free, that is certain only of a pod that no node has yet.
 */
export function isCopied({ metadata, spec }: WorkloadEndpoint, owner: AllocationOwner | undefined): boolean {
  if (owner === undefined) return spec.node === "";
  if (owner.podUID === undefined || metadata.uid === undefined || isMirror({ metadata })) return false;
  return spec.containerID === owner.containerID && metadata.uid !== owner.podUID;
}
