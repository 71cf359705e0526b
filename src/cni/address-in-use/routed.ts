/** Whether the node has a route to an address alone: then somebody here uses it, or the node has the address itself. */

import { type Address, WIDTH } from "../../lib/ip/address.ts";
import { toHostPrefix, toPrefixText } from "../../lib/ip/prefix.ts";
import { quote } from "../../lib/quote.ts";
import { EEXIST } from "../../linux/errno.ts";
import { KernelError } from "../../linux/kernel-error.ts";
import { RT_TABLE_MAIN } from "../../linux/netlink/constants.ts";
import { getRoute, type Route, toRoute } from "../../linux/netlink/route.ts";
import { findLink, USE_ADDRESS } from "../link/find.ts";
import type { Kernel } from "../link/kernel.ts";

/** Of one address, for all traffic: a route of another table is for some. */
export function isOfUser({ table, isLocal, destination: { family, length } }: Route): boolean {
  return (isLocal || table === RT_TABLE_MAIN) && length === WIDTH[family];
}

/** Where the kernel cannot tell, the address counts as free. @throws {KernelError} kernelRefused for an address to which there is a route */
export function requireUnrouted(kernel: Kernel, addresses: readonly Address[]): void {
  for (const address of addresses) {
    const reason = findUser(kernel, address);
    if (reason === undefined) continue;
    throw new KernelError({ operation: USE_ADDRESS, object: toPrefixText(toHostPrefix(address)), errno: EEXIST, reason });
  }
}

/** @returns who has the address, and what to do */
function findUser(kernel: Kernel, address: Address): string | undefined {
  try {
    using host = kernel.openRouteSocket();
    const reply = host.transact([getRoute(address)])[0]?.replies[0];
    const route = reply === undefined ? undefined : toRoute(reply);
    if (route?.index === undefined || !isOfUser(route)) return undefined;
    const user = findLink(host, { index: route.index })?.name;
    if (user === undefined) return undefined;
    return route.isLocal
      ? `it is the node's own, of interface ${quote(user)}, so no pod can have it; reserve it by an IPReservation`
      : `interface ${quote(user)} has a route to it; delete that interface, or the route, if nothing uses the address there`;
  } catch {
    return undefined;
  }
}
