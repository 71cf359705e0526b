/** Whether an address is in use: the node has a route to it alone, or through it, or has the address itself. */

import { type Address, WIDTH } from "../../../lib/ip/address.ts";
import { ENETUNREACH } from "../../../linux/errno.ts";
import type { KernelError } from "../../../linux/kernel-error.ts";
import { RT_TABLE_MAIN } from "../../../linux/netlink/constants.ts";
import { getRoute, type Route, toFoundRoute } from "../../../linux/netlink/route.ts";
import type { RouteSocket } from "../../../linux/netlink/route-socket.ts";
import type { Netns } from "../../../linux/netns.ts";
import { withUser } from "../../link/address-user.ts";
import type { Kernel } from "../../link/kernel.ts";
import { isGateway, refuseAddress, routesNaming } from "../../link/node-address.ts";
import { withAsker } from "./refusal.ts";

/** Whether a route is to one address alone, and for all traffic: a route in another table is for some traffic only. */
export function isToOneAddress({ table, isLocal, destination: { family, length } }: Route): boolean {
  return (isLocal || table === RT_TABLE_MAIN) && length === WIDTH[family];
}

/** Where addresses go to, and who wants them. */
export interface Destination {
  /** The container's namespace, where the runtime named one. */
  readonly netns: Netns | undefined;
  /** Who asks for these very addresses; undefined: nobody. */
  readonly askedBy: string | undefined;
}

/**
 * Refuses addresses to which, or through which, the node has a route; where somebody asks for these very addresses, only the node's own. Where the
 * kernel cannot tell, an address counts as free.
 *
 * @throws NetplugError kernelRefused
 */
export function requireUnused(kernel: Kernel, addresses: readonly Address[], { netns, askedBy }: Destination): void {
  for (const address of addresses) {
    const use = findUse(kernel, address);
    if (use === undefined || (askedBy !== undefined && !use.isOwn)) continue;
    // Both sides may be in the node's namespace, and the container's own side has the address.
    if (use.isOwn && netns !== undefined && kernel.isHostNetns(netns)) continue;
    throw withAsker(use.refusal, askedBy);
  }
}

function findUse(kernel: Kernel, address: Address): { readonly refusal: KernelError; readonly isOwn: boolean } | undefined {
  try {
    using host = kernel.openRouteSocket();
    const route = findRoute(host, address);
    if (route === undefined || !(isToOneAddress(route) || isGateway(host, address, route))) return undefined;
    return { refusal: withUser(host, refuseAddress(address)), isOwn: route.isLocal };
  } catch {
    return undefined;
  }
}

/** The route that traffic to the address takes. The kernel does not show one that leads nowhere: if it is to this address alone, it is found among all. */
function findRoute(host: RouteSocket, address: Address): Route | undefined {
  const [outcome] = host.transact([getRoute(address)]);
  if (outcome?.error === undefined || outcome.error.errno === ENETUNREACH) return toFoundRoute(outcome);
  return routesNaming(host, address).find((one) => isToOneAddress(one) && one.destination.base === address.value);
}
