/** Taking a link away: DEL, GC, and the undo of a failed ADD. */

import { ENODEV } from "../../linux/errno.ts";
import { deleteLink, type Link } from "../../linux/netlink/link.ts";
import type { RouteSocket } from "../../linux/netlink/route-socket.ts";
import type { Netns } from "../../linux/netns.ts";
import { parseAlias } from "../../endpoint/names.ts";
import type { LinkNames } from "../../endpoint/pod-link.ts";
import { findLink, findLinkByAlias, isPair } from "./find.ts";
import type { Kernel } from "./kernel.ts";
import { openNetnsIfThere } from "./pod-netns.ts";

/** A pair whose removal has begun. */
export interface Removal {
  /** Whether the host side's name, and so the record, belongs to the same container's interface in another network. */
  readonly isAnotherNetworks: boolean;
  /**
   * Whether the kernel has unregistered it: it is down, nobody finds it, its addresses and routes are gone. The kernel then still waits for
   * readers of its own before it frees the memory, and answers after that. False also when this cannot be told.
   */
  isUnregistered(): boolean;
  /**
   * Waits until it is gone; once.
   *
   * @returns whether there was something to delete
   * @throws {KernelError}
   */
  finish(): boolean;
}

/**
 * Begins to delete the attachment's pair, and with it all addresses and routes over it. The kernel needs some milliseconds for that, in
 * which there is other work to do.
 *
 * @param netnsPath `CNI_NETNS`; when undefined, or when the namespace is gone, only the host side is searched
 * @throws {KernelError}
 */
export function beginRemoval(kernel: Kernel, names: LinkNames, netnsPath?: string): Removal {
  using netns = netnsPath === undefined ? undefined : openNetnsIfThere(kernel, netnsPath);
  using opened = new DisposableStack();
  const host = opened.use(kernel.openRouteSocket());
  const byName = findLink(host, { name: names.hostName });
  const link = findOwnHostSide(kernel, host, names, { netns, byName });
  const isAnotherNetworks = isOfAnotherNetwork(byName, names.alias);
  if (link === undefined) return { isAnotherNetworks, isUnregistered: () => true, finish: () => false };
  const deletion = host.start(deleteLink(link.index, link.name));
  const held = opened.move();
  return {
    isAnotherNetworks,
    isUnregistered: () => isGone(kernel, link),
    finish() {
      using _held = held;
      const { error } = deletion.finish();
      if (error === undefined) return true;
      // The pod's namespace may have ended meanwhile, and the pair with it.
      if (error.errno === ENODEV) return false;
      throw error;
    },
  };
}

/** The question waits for the kernel's lock of all interfaces, which a deletion holds until the interface is unregistered. */
function isGone(kernel: Kernel, { index }: Link): boolean {
  try {
    using socket = kernel.openRouteSocket();
    return findLink(socket, { index }) === undefined;
  } catch {
    return false;
  }
}

/**
 * Deletes the attachment's pair if its pod side is in `netns`. For undoing an ADD: another ADD may have replaced the pair, and another
 * plugin may have an interface of that name. A pair without alias is ours if the host side has our name.
 *
 * @throws {KernelError}
 */
export function removePair(kernel: Kernel, names: LinkNames, netns: Netns): void {
  const pod = findPodSide(kernel, names, netns);
  if (pod?.peer === undefined) return;
  using host = kernel.openRouteSocket();
  const link = findLink(host, { index: pod.peer });
  if (link === undefined || !isPair(link, pod)) return;
  if (link.alias !== names.alias && (link.alias !== undefined || link.name !== names.hostName)) return;
  deleteIfThere(host, link);
}

/** Deletes one end of a pair, and waits for it; somebody else may have done so meanwhile, or its namespace has ended. @throws {KernelError} */
export function deleteIfThere(socket: RouteSocket, { index, name }: Link): void {
  const [outcome] = socket.transact([deleteLink(index, name)]);
  if (outcome?.error !== undefined && outcome.error.errno !== ENODEV) throw outcome.error;
}

/**
 * Searches by name, if the alias is ours; through the pod side, when the name differs (a DEL without the pod's name); last by alias
 * alone. An interface without alias was left by an ADD that ended between creating it and setting the alias.
 */
function findOwnHostSide(
  kernel: Kernel,
  host: RouteSocket,
  names: LinkNames,
  { netns, byName }: { readonly netns: Netns | undefined; readonly byName: Link | undefined },
): Link | undefined {
  if (byName?.alias === names.alias) return byName;
  const pod = netns === undefined ? undefined : findPodSide(kernel, names, netns);
  if (byName?.alias === undefined && byName?.kind === "veth" && byName.name === names.hostName) {
    const isAnotherPods = netns !== undefined && (pod === undefined || !isPair(byName, pod));
    if (!isAnotherPods) return byName;
  }
  const byPeer = pod?.peer === undefined ? undefined : findLink(host, { index: pod.peer });
  return byPeer?.alias === names.alias ? byPeer : findLinkByAlias(host, names.alias);
}

/** Whether a host side is that of the same container's interface in another network than that of `alias`. */
export function isOfAnotherNetwork(hostSide: Link | undefined, alias: string): boolean {
  return hostSide?.alias !== alias && interfaceOf(hostSide?.alias) === interfaceOf(alias);
}

/** Container and interface of an alias, without the network. */
function interfaceOf(alias = ""): string | undefined {
  const { containerID, ifName } = parseAlias(alias) ?? {};
  return containerID === undefined ? undefined : `${containerID}:${ifName}`;
}

function findPodSide(kernel: Kernel, names: LinkNames, netns: Netns): Link | undefined {
  using pod = kernel.openRouteSocket(netns);
  return findLink(pod, { name: names.podName });
}
