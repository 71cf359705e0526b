/** Our interfaces on this host, among them those that no DEL will remove. */

import { HOST_PREFIX } from "../../api/endpoint-names.ts";
import type { AttachmentId } from "../../api/ipam-block.ts";
import { parseAlias } from "../../endpoint/names.ts";
import { type Link, listLinks, toLink } from "../../linux/netlink/link.ts";
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
 * Interfaces of ADDs that ended between creating the interface and setting its alias: such an interface has our kind of name, no alias, and is
 * down. Those of ADDs under way look the same for a moment.
 */
export function listNamelessLinks(kernel: Kernel): readonly Link[] {
  using host = kernel.openRouteSocket();
  const ownName = new RegExp(`^${HOST_PREFIX}[0-9a-f]{11}$`);
  const isNameless = ({ name, alias, kind, isUp }: Link): boolean => alias === undefined && kind === "veth" && !isUp && ownName.test(name);
  return host.dump(listLinks()).map(toLink).filter(isNameless);
}

/** Deletes what {@link listNamelessLinks} has found. @throws {KernelError} */
export function removeNamelessLinks(kernel: Kernel, links: readonly Link[]): void {
  using host = kernel.openRouteSocket();
  for (const link of links) deleteIfThere(host, link);
}
