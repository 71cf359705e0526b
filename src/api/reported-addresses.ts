/** What the kubelet says of a pod, and its record does not: that of a pod that runs may have been cleared by mistake, or changed by its owner. */

import { type Address, tryParseAddress } from "../lib/ip/address.ts";
import type { WorkloadEndpoint } from "./workload-endpoint.ts";

/** Annotation that an endpoint of Kubernetes shows, and that no pod needs: the addresses, with commas. */
export const REPORTED_ADDRESSES = "netplug.io/reported-addresses";

/** Addresses that a pod has by its kubelet and not by its record. */
export function reportedAddresses({ metadata }: Pick<WorkloadEndpoint, "metadata">): readonly Address[] {
  const texts = (metadata.annotations?.[REPORTED_ADDRESSES] ?? "").split(",");
  return texts.map((text) => tryParseAddress(text)).filter((address) => address !== undefined);
}
