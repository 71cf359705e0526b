/**
 * Waiting for the kernel's own workers. An interface that was taken up sends nothing, and an IPv6 address is not the pod's to answer for,
 * until they have had the lock of all network configuration: in less than a millisecond, or much later where namespaces come and go. What
 * arrives before is lost, and asked for again after a second.
 */

import { toAddressText } from "../../lib/ip/address.ts";
import type { Clock } from "../../lib/ports.ts";
import { quote } from "../../lib/quote.ts";
import { getLink, type Link, toLink } from "../../linux/netlink/link.ts";
import { getRoute, toRoute } from "../../linux/netlink/route.ts";
import { execute, type RouteSocket } from "../../linux/netlink/socket.ts";
import type { PodLink } from "../../endpoint/pod-link.ts";
import { familiesOf, nextHopOf } from "./program.ts";
import type { LinkSession } from "./session.ts";
import type { CreatedLink } from "./setup.ts";

/** Milliseconds between looks: at first, and at most. */
const FIRST_PAUSE_MS = 1;
const LONGEST_PAUSE_MS = 16;

/** How long an ADD waits. */
export interface UsableOptions {
  readonly clock: Pick<Clock, "monotonic" | "sleep">;
  /** Milliseconds. */
  readonly waitMs: number;
}

/**
 * Waits until both ends send, and receive what is for their addresses.
 *
 * @returns what is not usable after all this time, one text for each; empty when the link is ready
 * @throws {KernelError} an end is gone
 */
export async function whenUsable(
  session: LinkSession,
  link: PodLink,
  created: Pick<CreatedLink, "index" | "peer">,
  { clock, waitMs }: UsableOptions,
): Promise<readonly string[]> {
  const end = clock.monotonic() + waitMs;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    const unusable = findUnusable(session, link, created);
    if (unusable.length === 0 || clock.monotonic() >= end) return unusable;
    await clock.sleep(pauseMs);
  }
}

function findUnusable({ host, pod }: LinkSession, link: PodLink, { index, peer }: Pick<CreatedLink, "index" | "peer">): readonly string[] {
  const ownNextHops = familiesOf(link).filter(isSlow).map(nextHopOf);
  const slowAddresses = link.addresses.filter(({ family }) => isSlow(family));
  return [...unusableAt(pod, link.podName, peer, slowAddresses), ...unusableAt(host, link.hostName, index, ownNextHops)];
}

/** IPv4 addresses count at once. */
function isSlow(family: 4 | 6): boolean {
  return family === 6;
}

/** Newer kernels let their worker finish with an interface before they show it. */
function unusableAt(socket: RouteSocket, name: string, index: Link["index"], addresses: PodLink["addresses"]): readonly string[] {
  const [[shown] = []] = execute(socket, [getLink({ index })]);
  const unusable = shown !== undefined && toLink(shown).isOperational ? [] : [`interface ${quote(name)}`];
  const routes = socket.transact(addresses.map((address) => getRoute(address, index)));
  for (const [i, address] of addresses.entries()) {
    const [reply] = routes[i]?.replies ?? [];
    // By its type: a kernel without IPv6 policy routing keeps it in the main table.
    const isOwn = reply !== undefined && toRoute(reply)?.isLocal === true;
    if (!isOwn) unusable.push(`address ${quote(toAddressText(address))} of interface ${quote(name)}`);
  }
  return unusable;
}
