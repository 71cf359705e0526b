/**
 * Waiting for the kernel's workers. After an interface is brought up it sends nothing, and does not answer for its IPv6 addresses, until a worker
 * has had the lock of all network configuration (RTNL): within a millisecond, or much later where many namespaces come and go. Packets before
 * that are lost; their senders repeat them after a second.
 */

import { type Address, toAddressText } from "../../lib/ip/address.ts";
import type { Clock } from "../../lib/ports.ts";
import { quote } from "../../lib/quote.ts";
import { getLink, type Ifindex, toLink } from "../../linux/netlink/link.ts";
import type { NetlinkRequest } from "../../linux/netlink/request.ts";
import { getRoute, toRoute } from "../../linux/netlink/route.ts";
import type { Outcome, RouteSocket } from "../../linux/netlink/route-socket.ts";
import { familiesOf, NEXT_HOPS, type PodLink } from "../../endpoint/pod-link.ts";
import type { LinkSockets } from "./sockets.ts";

/** Milliseconds between looks: at first, and at most. */
const FIRST_PAUSE_MS = 1;
const LONGEST_PAUSE_MS = 16;

const NOTHING: Outcome = { replies: [], error: undefined };

/** How long an ADD waits. */
export interface UsableOptions {
  readonly clock: Pick<Clock, "monotonic" | "sleep">;
  /** Milliseconds. */
  readonly waitMs: number;
}

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

/**
 * Waits until both ends send, and receive for their addresses. Looks once even when no time is left: the first look may be long ago.
 *
 * @returns what is not usable after all this time, one text for each; empty when the link is ready
 * @throws {KernelError} an end is gone
 */
export async function whenUsable(
  { host, pod }: Pick<LinkSockets, "host" | "pod">,
  link: PodLink,
  { index, peer }: { readonly index: Ifindex; readonly peer: Ifindex },
  { clock, waitMs }: UsableOptions,
): Promise<readonly string[]> {
  const end = clock.monotonic() + waitMs;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    if (clock.monotonic() < end) await clock.sleep(pauseMs);
    const left = [...look(pod, podEnd(link, peer)), ...look(host, hostEnd(link, index))];
    if (left.length === 0 || clock.monotonic() >= end) return left;
  }
}

/** {@link unusableOf} as it is now. @throws {KernelError} the end is gone */
export function look(socket: RouteSocket, end: LinkEnd): readonly string[] {
  return unusableOf(end, socket.transact(looksAt(end)));
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
    const [reply] = routes[i]?.replies ?? [];
    // Recognised by type, not by table: a kernel without IPv6 policy routing keeps local routes in the main table.
    const isOwn = reply !== undefined && toRoute(reply)?.isLocal === true;
    if (!isOwn) unusable.push(`address ${quote(toAddressText(address))} of interface ${quote(name)}`);
  }
  return unusable;
}
