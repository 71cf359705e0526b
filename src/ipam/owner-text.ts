/** Owners of addresses, and who asks for them, for messages. */

import type { Allocation, AllocationOwner } from "../api/ipam-block.ts";
import { quote } from "../lib/quote.ts";
import { toTimeText } from "../lib/time-text.ts";

/** `pod "default/web-0" (container "4f…", interface "eth0", network "net") on node "node-1" since 2026-01-02T03:04:05Z`. */
export function describeAllocation({ owner, since }: Allocation): string {
  const container = `container ${quote(owner.containerID)}`;
  const detail = `interface ${quote(owner.ifName)}, network ${quote(owner.network)}`;
  const who =
    owner.pod === undefined ? `${container} (${detail})` : `pod ${quote(podOf(owner.namespace, owner.pod))} (${container}, ${detail})`;
  return `${who} on node ${quote(owner.node)} since ${toTimeText(since)}`;
}

/** What an owner is to a pod that has its name, but not its container: without this, a pod seems to be refused its own address. Else empty. */
export function toPredecessorText(owner: AllocationOwner, pod: AllocationOwner): string {
  const isNameSame = owner.pod !== undefined && owner.pod === pod.pod && owner.namespace === pod.namespace;
  if (!isNameSame || owner.containerID === pod.containerID) return "";
  const isKnown = owner.podUID !== undefined && pod.podUID !== undefined;
  if (!isKnown) return ", an earlier container of this pod, or of one of its name";
  return owner.podUID === pod.podUID ? ", an earlier container of this pod" : ", an earlier pod of this name";
}

/** Who names what a message is about. @param origin as in `AddressRequest.namedBy`; undefined: nothing is said */
export function toOriginText(origin: string | undefined, what: string): string {
  return origin === undefined ? "" : `; ${origin} names ${what}`;
}

function podOf(namespace: string | undefined, pod: string): string {
  return namespace === undefined ? pod : `${namespace}/${pod}`;
}
