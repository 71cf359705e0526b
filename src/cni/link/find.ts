/** Finding the two ends of an attachment, and telling them from everybody else's. */

import { ENODEV } from "../../linux/errno.ts";
import { type Ifindex, getLink, type Link, listLinks, toLink } from "../../linux/netlink/link.ts";
import type { RouteSocket } from "../../linux/netlink/socket.ts";
import type { PodLink } from "../../endpoint/pod-link.ts";
import { parseAlias } from "../../endpoint/names.ts";

/** What identifies an attachment's link. */
export type LinkNames = Pick<PodLink, "hostName" | "podName" | "alias">;

/** @returns undefined when there is no such interface @throws {KernelError} */
export function findLink(socket: RouteSocket, which: { readonly name: string } | { readonly index: Ifindex }): Link | undefined {
  const [outcome] = socket.transact([getLink(which)]);
  if (outcome?.error !== undefined && outcome.error.errno !== ENODEV) throw outcome.error;
  const reply = outcome?.replies[0];
  return reply === undefined ? undefined : toLink(reply);
}

/** The interface with this alias, whatever its name. Reads all interfaces of the namespace. */
export function findLinkByAlias(socket: RouteSocket, alias: string): Link | undefined {
  return socket
    .dump(listLinks())
    .map(toLink)
    .find((link) => link.alias === alias);
}

/** Whether they are the two ends of one veth pair. */
export function isPair(host: Link, pod: Link): boolean {
  return host.peer === pod.index && pod.peer === host.index;
}

/**
 * Whether an interface that has the host side's name may be replaced: an earlier pod of the same name left it, or an ADD that
 * ended before it set the alias. The name alone does not tell: pod `a` with interface `b` has the same name as pod `a.b`. An interface
 * found by an alternative name is not ours: we set none.
 */
export function isReplaceable(host: Link, names: LinkNames): boolean {
  if (host.kind !== "veth" || host.name !== names.hostName) return false;
  return host.alias === undefined || parseAlias(host.alias)?.ifName === names.podName;
}
