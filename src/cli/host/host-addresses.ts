/** What the kernel of this host shows of addresses in use. */

import type { AttachmentId } from "../../api/ipam-block.ts";
import { parseAlias } from "../../endpoint/names.ts";
import type { Address } from "../../lib/ip/address.ts";
import { WIDTH } from "../../lib/ip/address.ts";
import { listLinks, toLink } from "../../linux/netlink/link.ts";
import { listRoutes, RTPROT_NETPLUG, toRoute } from "../../linux/netlink/route.ts";
import { NetlinkSocket } from "../../linux/netlink/socket.ts";

/** An address that a container has, or may have. */
export interface HostAddress {
  readonly attachment: AttachmentId;
  readonly address: Address;
  /** Interface of the host side, or path of the network namespace; undefined: nothing tells whether the container is there. */
  readonly where: string | undefined;
}

/** Every address that netplug has given an interface on this host, by its route. @throws {KernelError} */
export function readHostAddresses(): readonly HostAddress[] {
  using host = NetlinkSocket.open();
  const links = new Map(
    host
      .dump(listLinks())
      .map(toLink)
      .map((link) => [link.index, link]),
  );
  const routes = [...host.dump(listRoutes(4)), ...host.dump(listRoutes(6))].map(toRoute);
  return routes.flatMap((route) => {
    if (route?.protocol !== RTPROT_NETPLUG || route.index === undefined) return [];
    const { family, base, length } = route.destination;
    const { alias = "", name = "" } = links.get(route.index) ?? {};
    const attachment = parseAlias(alias);
    return attachment === undefined || length !== WIDTH[family] ? [] : [{ attachment, address: { family, value: base }, where: name }];
  });
}
