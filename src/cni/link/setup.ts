/** Carrying out a {@link PodLink}: create, program, verify. */

import { NetplugError } from "../../lib/errors.ts";
import { quote } from "../../lib/quote.ts";
import type { UndoStack } from "../../lib/undo-stack.ts";
import { EEXIST } from "../../linux/errno.ts";
import { KernelError } from "../../linux/kernel-error.ts";
import { createVeth, getLink, type Ifindex, type Link, setLinkAlias, setLinkMac, toLink } from "../../linux/netlink/link.ts";
import type { NetlinkMessage } from "../../linux/netlink/codec.ts";
import type { NetlinkRequest } from "../../linux/netlink/request.ts";
import type { RouteSocket } from "../../linux/netlink/route-socket.ts";
import { execute } from "../../linux/netlink/socket.ts";
import { gatewayRoutesOf, HOST_MAC, type PodLink } from "../../endpoint/pod-link.ts";
import { findExisting } from "./find.ts";
import { DEFAULT_ROUTE_QUERY, gatewayRoute, hostRequests, hostSettings, isLearned, podRequests, podSettings } from "./requests.ts";
import { deleteIfThere, removePair } from "./remove.ts";
import type { LinkSockets } from "./sockets.ts";
import { hostEnd, looksAt, podEnd, unusableOf } from "./usable.ts";

/** The host side of a pair that was created, with the index of the pod side. */
export type CreatedLink = Link & { readonly peer: Ifindex };

/**
 * Creates the pair, still without addresses and routes: see {@link programLink}. An existing interface of its names is replaced, unless it is
 * somebody else's. Synchronous.
 *
 * With the pair the kernel drops its addresses, routes, neighbours and settings, so deleting the pair undoes everything, except what
 * belongs to the pod's namespace: `lo` up, and forwarding.
 *
 * @param mayReplace throws when the existing interface may be newer than the caller
 * @throws {KernelError} the caller must then run `undo`
 */
export function createLink(sockets: LinkSockets, link: PodLink, undo: UndoStack, mayReplace: () => void): CreatedLink {
  const { kernel, netns, host } = sockets;
  undo.push({ what: `delete interface ${quote(link.hostName)}`, undo: () => removePair(kernel, link, netns) });
  const created = createOrReplacePair(sockets, link, mayReplace);
  // The kernel ignores an alias in the message that creates the pair; in the same batch it would be set on an older interface of that name,
  // if creating fails.
  const [aliased, defaultRoute] = host.transact([setLinkAlias(created.index, link.hostName, link.alias), DEFAULT_ROUTE_QUERY]);
  if (aliased?.error) throw aliased.error;
  kernel.writeSysctls(hostSettings(link, isLearned(defaultRoute)));
  kernel.writeSysctls(podSettings(link), netns);
  return created;
}

/**
 * Gives both sides their addresses and routes, and brings them up. Synchronous.
 *
 * @returns what is not usable yet, for `whenUsable()`
 * @throws {KernelError}
 */
export function programLink(sockets: LinkSockets, link: PodLink, created: CreatedLink): readonly string[] {
  execute(sockets.host, hostRequests(link, created.index));
  const unusable = programPod(sockets.pod, link, created.peer);
  return [...unusable, ...verifyHost(sockets.host, link, created)];
}

/** Creates without looking first, since the names are nearly always free. */
function createOrReplacePair(sockets: LinkSockets, link: PodLink, mayReplace: () => void): CreatedLink {
  try {
    return createPair(sockets, link);
  } catch (cause) {
    if (!(cause instanceof KernelError) || cause.errno !== EEXIST) throw cause;
    const inTheWay = findExisting(sockets)?.host;
    // Asked after `findExisting()`: an interface that a newer ADD creates later has another index, and is not deleted.
    mayReplace();
    if (inTheWay !== undefined) deleteIfThere(sockets.host, inTheWay);
    return createPair(sockets, link);
  }
}

function createPair({ host, netns }: LinkSockets, link: PodLink): CreatedLink {
  const request = createVeth({
    name: link.hostName,
    mtu: link.mtu,
    mac: HOST_MAC,
    queues: link.queues,
    peerName: link.podName,
    peerMac: link.podMac,
    peerNetns: netns.fd.number,
  });
  const [, [reply] = []] = execute(host, [request, getLink({ name: link.hostName })]);
  const created = reply === undefined ? undefined : toLink(reply);
  if (created?.peer === undefined) throw new NetplugError("internal", `create veth ${quote(link.hostName)}: the kernel does not show it`);
  return { ...created, peer: created.peer };
}

/** @returns what is not usable yet */
function programPod(pod: RouteSocket, link: PodLink, index: Ifindex): readonly string[] {
  const end = podEnd(link, index);
  const requests = [...podRequests(link, index)];
  const routesFrom = requests.length;
  const routes = gatewayRoutesOf(link.routes);
  for (const route of routes) requests.push(gatewayRoute(route, index));
  const outcomes = pod.transact([...requests, ...looksAt(end)]);
  const secondChoices: NetlinkRequest[] = [];
  for (const [at, { error }] of outcomes.slice(0, requests.length).entries()) {
    const route = routes[at - routesFrom];
    if (error === undefined) continue;
    if (route === undefined || error.errno !== EEXIST) throw error;
    secondChoices.push(gatewayRoute(route, index, true));
  }
  if (secondChoices.length > 0) execute(pod, secondChoices);
  return unusableOf(end, outcomes.slice(requests.length));
}

/**
 * Sets the host side's MAC again if systemd's `MACAddressPolicy` has changed it: pods have the constant one as permanent neighbour.
 *
 * @returns what is not usable yet
 */
function verifyHost(host: RouteSocket, link: PodLink, { index }: Link): readonly string[] {
  const end = hostEnd(link, index);
  const outcomes = host.transact(looksAt(end));
  const unusable = unusableOf(end, outcomes);
  if (macOf(outcomes[0]?.replies) === HOST_MAC) return unusable;
  execute(host, [setLinkMac(index, link.hostName, HOST_MAC)]);
  const [replies] = execute(host, [getLink({ index })]);
  const mac = macOf(replies);
  if (mac === HOST_MAC) return unusable;
  throw new NetplugError("kernelRefused", `set MAC address of ${quote(link.hostName)}: got ${mac}, want ${HOST_MAC}`);
}

function macOf([reply]: readonly NetlinkMessage[] = []): string | undefined {
  return reply === undefined ? undefined : toLink(reply).mac;
}
