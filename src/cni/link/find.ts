/** Finding the two ends of an attachment, and telling them from everybody else's. */

import { HOST_PREFIX } from "../../api/endpoint-names.ts";
import { quote } from "../../lib/quote.ts";
import { EEXIST, ENODEV } from "../../linux/errno.ts";
import { KernelError } from "../../linux/kernel-error.ts";
import { getLink, type Link, type LinkKey, listLinks, toLink } from "../../linux/netlink/link.ts";
import type { RouteSocket } from "../../linux/netlink/route-socket.ts";
import { parseAlias } from "../../endpoint/names.ts";
import type { LinkNames } from "../../endpoint/pod-link.ts";
import type { LinkSockets } from "./sockets.ts";

/** Interfaces that already have the attachment's names. */
export interface ExistingLink {
  readonly host: Link | undefined;
  readonly pod: Link | undefined;
  /** Whether it is this attachment's own, complete or not; otherwise an earlier pod of the same name left it. */
  readonly isOurs: boolean;
}

/** @returns undefined when there is no such interface @throws {KernelError} */
export function findLink(socket: RouteSocket, which: LinkKey): Link | undefined {
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
 * Looks whether the names are free.
 *
 * @returns undefined when they are; else what to keep (if `isOurs`) or replace
 * @throws {KernelError} an interface that is not ours has one of them
 */
export function findExisting({ host, pod, names, netns }: LinkSockets): ExistingLink | undefined {
  const podLink = findLink(pod, { name: names.podName });
  const hostLink = findLink(host, { name: names.hostName }) ?? findRenamed(host, podLink, names);
  if (hostLink === undefined && podLink === undefined) return undefined;
  const isOurs = hostLink !== undefined && podLink !== undefined && isOwnPair(hostLink, podLink, names);
  if (podLink !== undefined && !isOurs) {
    throw new KernelError({
      operation: "create interface",
      object: names.podName,
      errno: EEXIST,
      reason: `it is in network namespace ${quote(netns.path)} already, and not this attachment's`,
    });
  }
  if (hostLink !== undefined && !isOurs && !isReplaceable(hostLink, names)) {
    throw new KernelError({
      operation: "create interface",
      object: names.hostName,
      errno: EEXIST,
      reason: `it is somebody else's: ${describe(hostLink)}; rename or delete it`,
    });
  }
  return { host: hostLink, pod: podLink, isOurs };
}

/** The host side if somebody renamed it; not one with a name of ours, which the attachment had under another pod name. */
function findRenamed(host: RouteSocket, pod: Link | undefined, { alias }: LinkNames): Link | undefined {
  const link = pod?.peer === undefined ? undefined : findLink(host, { index: pod.peer });
  return link?.alias === alias && !link.name.startsWith(HOST_PREFIX) ? link : undefined;
}

/** Whether a pair is this attachment's. Without an alias, an ADD of it ended half-way. */
function isOwnPair(host: Link, pod: Link, { alias }: LinkNames): boolean {
  return isPair(host, pod) && (host.alias === alias || host.alias === undefined);
}

/**
 * Whether an interface that has the host side's name may be replaced: an earlier pod of the same name left it, or an ADD that
 * ended before it set the alias. The name alone does not tell: pod `a` with interface `b` has the same name as pod `a.b`. An interface
 * found by an alternative name is not ours: we set none.
 */
function isReplaceable(host: Link, names: LinkNames): boolean {
  if (host.kind !== "veth" || host.name !== names.hostName) return false;
  return host.alias === undefined || parseAlias(host.alias)?.ifName === names.podName;
}

function describe({ name, kind, alias }: Link): string {
  return `interface ${quote(name)}, kind ${quote(kind ?? "hardware")}, ${alias === undefined ? "no alias" : `alias ${quote(alias)}`}`;
}
