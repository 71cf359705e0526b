/** What the kubelet says of a pod, and its record does not: that of a pod that runs may have been cleared by mistake, or changed by its owner. */

import { type Address, tryParseAddress } from "../lib/ip/address.ts";
import type { WorkloadEndpoint } from "./workload-endpoint.ts";

/** Annotation that an endpoint of Kubernetes shows: the addresses, with commas. For its space no API server takes it, so that no pod's owner can forge it. */
export const REPORTED_ADDRESSES = "netplug.io/reported addresses";

/** The same of a pod that is being deleted: until it ends it has its addresses, and for some seconds after that the kubelet may still name them. */
export const ENDING_ADDRESSES = "netplug.io/ending addresses";

/** Addresses that a pod has by its kubelet and not by its record. */
export function reportedAddresses(endpoint: Pick<WorkloadEndpoint, "metadata">): readonly Address[] {
  return addressesIn(endpoint, REPORTED_ADDRESSES);
}

/** Those of a pod that is being deleted: perhaps it has them no more. */
export function endingAddresses(endpoint: Pick<WorkloadEndpoint, "metadata">): readonly Address[] {
  return addressesIn(endpoint, ENDING_ADDRESSES);
}

function addressesIn({ metadata }: Pick<WorkloadEndpoint, "metadata">, annotation: string): readonly Address[] {
  const texts = (metadata.annotations?.[annotation] ?? "").split(",");
  return texts.map((text) => tryParseAddress(text)).filter((address) => address !== undefined);
}
