/** The refusal of an address that is in use on the node, although nobody has it allocated. */

import { quote } from "../../lib/quote.ts";
import { toAddressText } from "../../lib/ip/address.ts";
import { baseOf, toPrefixText } from "../../lib/ip/prefix.ts";
import { EEXIST } from "../../linux/errno.ts";
import { KernelError } from "../../linux/kernel-error.ts";
import type { Route } from "../../linux/netlink/route.ts";
import type { RouteSocket } from "../../linux/netlink/route-socket.ts";
import { findLink } from "./find.ts";

/** What such an address is refused with, unless it is the kernel that refuses a route to it. */
export const USE_ADDRESS = "use address";

/** Says who has the address, by the route of the node to it, and what to do. @throws {KernelError} when the kernel cannot tell */
export function inUse(host: RouteSocket, { destination, index, isLocal }: Route, operation: string): KernelError {
  const user = index === undefined ? undefined : findLink(host, { index })?.name;
  let reason = "another route to it exists; delete it";
  if (user !== undefined) {
    reason = isLocal
      ? `it is the node's own, of interface ${quote(user)}, so no pod can have it; reserve it by an IPReservation`
      : `interface ${quote(user)} has a route to it; delete that interface, or the route, if nothing uses ${toAddressText(baseOf(destination))} there`;
  }
  return new KernelError({ operation, object: toPrefixText(destination), errno: EEXIST, reason });
}
