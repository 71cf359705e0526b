/** Taking a link away: DEL, GC, and the way back of a failed ADD. */

import { HOST_PREFIX } from "../../api/endpoint-names.ts";
import { ENODEV } from "../../linux/errno.ts";
import { deleteLink, type Link, listLinks, toLink } from "../../linux/netlink/link.ts";
import type { RouteSocket } from "../../linux/netlink/socket.ts";
import type { Netns } from "../../linux/netns.ts";
import { type AliasParts, parseAlias } from "../../endpoint/names.ts";
import { findLink, findLinkByAlias, isPair, type LinkNames } from "./find.ts";
import type { Kernel } from "./kernel.ts";
import { openNetnsIfThere } from "./pod-netns.ts";

/** An interface of ours that is on this host. */
export interface LinkOnHost extends AliasParts {
  readonly hostName: string;
  readonly alias: string;
}

/** A pair that goes. */
export interface Removal {
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
 * @param netnsPath `CNI_NETNS`; undefined, or of a namespace that is gone: the host side alone tells
 * @throws {KernelError}
 */
export function beginRemoval(kernel: Kernel, names: LinkNames, netnsPath?: string): Removal {
  using netns = netnsPath === undefined ? undefined : openNetnsIfThere(kernel, netnsPath);
  using opened = new DisposableStack();
  const host = opened.use(kernel.openRouteSocket());
  const link = findOwnHostSide(kernel, host, names, netns);
  if (link === undefined) return { finish: () => false };
  const deletion = host.start(deleteLink(link.index, link.name));
  const held = opened.move();
  return {
    finish() {
      using _held = held;
      const { error } = deletion.finish();
      if (error === undefined) return true;
      // Its namespace may have ended meanwhile, and taken it along.
      if (error.errno === ENODEV) return false;
      throw error;
    },
  };
}

/** Deletes the attachment's pair as {@link beginRemoval} does, and waits for it. @throws {KernelError} */
export function removeLink(kernel: Kernel, names: LinkNames, netnsPath?: string): boolean {
  return beginRemoval(kernel, names, netnsPath).finish();
}

/**
 * Deletes the attachment's pair as long as its pod side is in `netns`: for the way back of an ADD, whose pair another may have replaced,
 * and another plugin's may have come before. Without an alias it is ours by its name only.
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
  const [outcome] = host.transact([deleteLink(link.index, link.name)]);
  if (outcome?.error !== undefined && outcome.error.errno !== ENODEV) throw outcome.error;
}

/** Every link of a network on this host, for GC. */
export function listLinksOf(kernel: Kernel, network: string): readonly LinkOnHost[] {
  using host = kernel.openRouteSocket();
  return host
    .dump(listLinks())
    .map(toLink)
    .flatMap(({ name, alias }) => {
      const parts = alias === undefined ? undefined : parseAlias(alias);
      return alias === undefined || parts?.network !== network ? [] : [{ ...parts, hostName: name, alias }];
    });
}

/**
 * Deletes what ADDs left that were ended between creating an interface and naming its owner: it has our kind of name, no alias, and
 * was never taken up. Only for GC, beside which a runtime lets no ADD run.
 *
 * @returns their names
 * @throws {KernelError}
 * @see CNI SPEC 1.1.0, section "Lifecycle & Ordering"
 */
export function removeNamelessLinks(kernel: Kernel): readonly string[] {
  using host = kernel.openRouteSocket();
  const ownName = new RegExp(`^${HOST_PREFIX}[0-9a-f]{11}$`);
  const names: string[] = [];
  for (const { index, name, alias, kind, isUp } of host.dump(listLinks()).map(toLink)) {
    if (alias !== undefined || kind !== "veth" || isUp || !ownName.test(name)) continue;
    const [outcome] = host.transact([deleteLink(index, name)]);
    if (outcome?.error !== undefined && outcome.error.errno !== ENODEV) throw outcome.error;
    names.push(name);
  }
  return names;
}

/**
 * By its name, when the alias is ours; by the pod side, when the name is another (a DEL without the pod's name); by the alias
 * alone. An interface without alias is what an ADD left that was ended between creating it and naming its owner.
 */
function findOwnHostSide(kernel: Kernel, host: RouteSocket, names: LinkNames, netns: Netns | undefined): Link | undefined {
  const byName = findLink(host, { name: names.hostName });
  if (byName?.alias === names.alias) return byName;
  const pod = netns === undefined ? undefined : findPodSide(kernel, names, netns);
  if (byName?.alias === undefined && byName?.kind === "veth" && byName.name === names.hostName) {
    const isAnotherPods = netns !== undefined && (pod === undefined || !isPair(byName, pod));
    if (!isAnotherPods) return byName;
  }
  const byPeer = pod?.peer === undefined ? undefined : findLink(host, { index: pod.peer });
  return byPeer?.alias === names.alias ? byPeer : findLinkByAlias(host, names.alias);
}

function findPodSide(kernel: Kernel, names: LinkNames, netns: Netns): Link | undefined {
  using pod = kernel.openRouteSocket(netns);
  return findLink(pod, { name: names.podName });
}
