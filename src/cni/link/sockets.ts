/** An ADD's or CHECK's view of one attachment's link: all that can be opened and checked before its addresses are known. */

import { HOST_PREFIX } from "../../api/endpoint-names.ts";
import { NetplugError } from "../../lib/errors.ts";
import { quote } from "../../lib/quote.ts";
import { EEXIST } from "../../linux/errno.ts";
import { KernelError } from "../../linux/kernel-error.ts";
import { IFALIAS_MAX } from "../../linux/netlink/constants.ts";
import type { Link } from "../../linux/netlink/link.ts";
import type { RouteSocket } from "../../linux/netlink/socket.ts";
import type { Netns } from "../../linux/netns.ts";
import { findLink, isPair, isReplaceable, type LinkNames } from "./find.ts";
import type { Kernel } from "./kernel.ts";

/** Open sockets into both namespaces. It does not own `netns`. */
export interface LinkSockets extends Disposable {
  readonly kernel: Kernel;
  readonly names: LinkNames;
  readonly netns: Netns;
  readonly host: RouteSocket;
  readonly pod: RouteSocket;
}

/** Interfaces that already have the attachment's names. */
export interface ExistingLink {
  readonly host: Link | undefined;
  readonly pod: Link | undefined;
  /** Whether it is this attachment's own, complete or not; otherwise an earlier pod of the same name left it. */
  readonly isOurs: boolean;
}

/** Opens what {@link findExisting}, `createLink` and `inspectLink` work with. Changes nothing. @throws {NetplugError} */
export function openLinkSockets(kernel: Kernel, netns: Netns, names: LinkNames): LinkSockets {
  const aliasBytes = Buffer.byteLength(names.alias);
  if (aliasBytes > IFALIAS_MAX) {
    throw new NetplugError(
      "invalidConfig",
      `name interface ${quote(names.hostName)}: its alias takes ${aliasBytes} bytes, want ${IFALIAS_MAX} or less; use a shorter network name`,
    );
  }
  using opened = new DisposableStack();
  const host = opened.use(kernel.openRouteSocket());
  const pod = opened.use(kernel.openRouteSocket(netns));
  const both = opened.move();
  return { kernel, names, netns, host, pod, [Symbol.dispose]: () => both.dispose() };
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

function describe({ name, kind, alias }: Link): string {
  return `interface ${quote(name)}, kind ${quote(kind ?? "hardware")}, ${alias === undefined ? "no alias" : `alias ${quote(alias)}`}`;
}
