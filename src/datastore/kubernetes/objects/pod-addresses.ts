/** The addresses of a pod: those of an endpoint's record, and those that it has besides. */

import { FIRST_INTERFACE } from "../../../api/endpoint-names.ts";
import { ENDING_ADDRESSES, REPORTED_ADDRESSES } from "../../../api/reported-addresses.ts";
import type { Pod } from "../../../kube/core-types.ts";
import { WIDTH } from "../../../lib/ip/address.ts";
import { tryParsePrefix } from "../../../lib/ip/prefix.ts";
import { readOwn } from "./endpoint-state.ts";

/**
 * Those that the record of an interface shows: our annotation counts, or where it is absent, the pod's status. An ended pod has no addresses.
 *
 * @returns each as a /32 or /128
 */
export function networksOf(pod: Pod, ifName: string): readonly string[] {
  return hasEnded(pod) ? [] : (annotatedNetworks(pod, ifName) ?? kubeletNetworks(pod, ifName));
}

/** Without entries that are no addresses: a user who may change pods may write anything there. @returns undefined where nothing is recorded */
function annotatedNetworks(pod: Pod, ifName: string): readonly string[] | undefined {
  return readOwn(pod, "podIPs", ifName)?.split(",").filter(isAddress);
}

/** What the kubelet reports, which knows of one interface. */
function kubeletNetworks({ status }: Pod, ifName: string): readonly string[] {
  if (ifName !== FIRST_INTERFACE) return [];
  return (status?.podIPs ?? []).map(({ ip }) => (ip.includes(":") ? `${ip}/128` : `${ip}/32`));
}

/**
 * Addresses that a pod with a sandbox has, and that the record lacks: somebody may have cleared or changed the record. A pod without a sandbox, as
 * between the DEL and the next ADD, has none, although the kubelet goes on naming those that it had; for a pod that ends it may do so for some
 * seconds. The kubelet calls a pod ended after the DEL. So if an ended pod has its sandbox, somebody else called it ended, as when its node was
 * lost, and it may still run.
 *
 * @returns the annotation that shows them; undefined where there are none
 */
export function unrecordedAddresses(pod: Pod, ifName: string): Readonly<Record<string, string>> | undefined {
  const { conditions = [] } = pod.status ?? {};
  const hasSandbox = conditions.some(({ type, status }) => type === "PodReadyToStartContainers" && status === "True");
  if (!hasSandbox) return undefined;
  const ofKubelet = kubeletNetworks(pod, ifName);
  const all = hasEnded(pod) ? [...(annotatedNetworks(pod, ifName) ?? []), ...ofKubelet] : ofKubelet;
  const shown = networksOf(pod, ifName);
  const others = [...new Set(all)].filter((network) => !shown.includes(network)).map((network) => network.replace(/\/.*/, ""));
  if (others.length === 0) return undefined;
  const mayHaveEnded = hasEnded(pod) || pod.metadata.deletionTimestamp !== undefined;
  return { [mayHaveEnded ? ENDING_ADDRESSES : REPORTED_ADDRESSES]: others.join(",") };
}

function hasEnded({ status: { phase } = {} }: Pod): boolean {
  return phase === "Succeeded" || phase === "Failed";
}

function isAddress(text: string): boolean {
  const prefix = tryParsePrefix(text);
  return prefix !== undefined && prefix.length === WIDTH[prefix.family];
}
