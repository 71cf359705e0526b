/**
 * When a link is usable. After an interface is brought up it sends nothing, and does not answer for its IPv6 addresses, until a worker of the
 * kernel has had the lock of all network configuration (RTNL): within a millisecond, or much later where many namespaces come and go. Packets
 * before that are lost; their senders repeat them after a second.
 */

import { type Address, toAddressText } from "../../lib/ip/address.ts";
import { quote } from "../../lib/quote.ts";
import { getLink, type Ifindex, toLink } from "../../linux/netlink/link.ts";
import type { NetlinkRequest } from "../../linux/netlink/request.ts";
import { getRoute, toFoundRoute } from "../../linux/netlink/route.ts";
import type { Outcome } from "../../linux/netlink/route-socket.ts";
import { familiesOf, NEXT_HOPS, type PodLink } from "../../endpoint/pod-link.ts";

const NOTHING: Outcome = { replies: [], error: undefined };

/** One end of a link, and its addresses that are usable only after the kernel's workers have run: those of IPv6. */
export interface LinkEnd {
  readonly name: string;
  readonly index: Ifindex;
  readonly slowAddresses: readonly Address[];
}

/** The end in the pod. */
export function podEnd({ podName, addresses }: PodLink, index: Ifindex): LinkEnd {
  return { name: podName, index, slowAddresses: addresses.filter(({ family }) => family === 6) };
}

/** The end on the host, which answers for the pod's next hop. */
export function hostEnd(link: PodLink, index: Ifindex): LinkEnd {
  return { name: link.hostName, index, slowAddresses: familiesOf(link).includes(6) ? [NEXT_HOPS[6]] : [] };
}

/** Requests that show whether an end is usable. Newer kernels finish the worker's task for an interface before they answer. */
export function looksAt({ index, slowAddresses }: LinkEnd): readonly NetlinkRequest[] {
  return [getLink({ index }), ...slowAddresses.map((address) => getRoute(address, index))];
}

/**
 * What {@link looksAt} has shown not to be usable, one text for each.
 *
 * @throws {KernelError} the end is gone
 */
export function unusableOf({ name, slowAddresses }: LinkEnd, [link = NOTHING, ...routes]: readonly Outcome[]): readonly string[] {
  if (link.error !== undefined) throw link.error;
  const [shown] = link.replies;
  const unusable = shown !== undefined && toLink(shown).isOperational ? [] : [`interface ${quote(name)}`];
  for (const [i, address] of slowAddresses.entries()) {
    // Recognised by type, not by table: a kernel without IPv6 policy routing keeps local routes in the main table.
    if (!toFoundRoute(routes[i])?.isLocal) unusable.push(`address ${quote(toAddressText(address))} of interface ${quote(name)}`);
  }
  return unusable;
}
