/** Interfaces of ours on this host that may have nobody to take them away. */

import { HOST_PREFIX } from "../../api/endpoint-names.ts";
import type { AttachmentId } from "../../api/ipam-block.ts";
import { parseAlias } from "../../endpoint/names.ts";
import { listLinks, toLink } from "../../linux/netlink/link.ts";
import type { Kernel } from "./kernel.ts";
import { deleteIfThere } from "./remove.ts";

/** An interface of ours that is on this host. */
export interface LinkOnHost extends AttachmentId {
  readonly hostName: string;
  readonly alias: string;
}

/** Every link of a network on this host. */
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
 * Deletes interfaces of ADDs that ended between creating the interface and setting its alias: such an interface has our kind of name, no
 * alias, and is down. Only for GC: a runtime runs no ADD at the same time.
 *
 * @returns their names
 * @throws {KernelError}
 * @see CNI SPEC 1.1.0, section "Lifecycle & Ordering"
 */
export function removeNamelessLinks(kernel: Kernel): readonly string[] {
  using host = kernel.openRouteSocket();
  const ownName = new RegExp(`^${HOST_PREFIX}[0-9a-f]{11}$`);
  const names: string[] = [];
  for (const link of host.dump(listLinks()).map(toLink)) {
    const { name, alias, kind, isUp } = link;
    if (alias !== undefined || kind !== "veth" || isUp || !ownName.test(name)) continue;
    deleteIfThere(host, link);
    names.push(name);
  }
  return names;
}
