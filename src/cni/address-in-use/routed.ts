/** Whether the node has a route to an address of its own: then somebody here uses it. */

import type { Address } from "../../lib/ip/address.ts";
import { equalPrefixes, toHostPrefix, toPrefixText } from "../../lib/ip/prefix.ts";
import { quote } from "../../lib/quote.ts";
import { EEXIST } from "../../linux/errno.ts";
import { KernelError } from "../../linux/kernel-error.ts";
import { RT_TABLE_MAIN } from "../../linux/netlink/constants.ts";
import { getRoute, toRoute } from "../../linux/netlink/route.ts";
import { findLink } from "../link/find.ts";
import type { Kernel } from "../link/kernel.ts";

/** What an address in use is refused with, here and by whoever adds a route to it. */
export const USE_ADDRESS = "use address";

/** Where the kernel cannot tell, the address counts as free. @throws {KernelError} kernelRefused for an address to which there is a route */
export function requireUnrouted(kernel: Kernel, addresses: readonly Address[]): void {
  for (const address of addresses) {
    const user = findUser(kernel, address);
    if (user === undefined) continue;
    const reason = `interface ${quote(user)} has a route to it; delete that interface, or the route, if nothing uses the address there`;
    throw new KernelError({ operation: USE_ADDRESS, object: toPrefixText(toHostPrefix(address)), errno: EEXIST, reason });
  }
}

/** @returns the interface to which its route leads */
function findUser(kernel: Kernel, address: Address): string | undefined {
  try {
    using host = kernel.openRouteSocket();
    const reply = host.transact([getRoute(address)])[0]?.replies[0];
    const route = reply === undefined ? undefined : toRoute(reply);
    if (route?.index === undefined || route.table !== RT_TABLE_MAIN) return undefined;
    return equalPrefixes(route.destination, toHostPrefix(address)) ? findLink(host, { index: route.index })?.name : undefined;
  } catch {
    return undefined;
  }
}
