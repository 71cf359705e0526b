/** Whether the node has a route to an address alone, or by it: then somebody uses it, or the node has the address itself. */

import { type Address, WIDTH } from "../../../lib/ip/address.ts";
import type { KernelError } from "../../../linux/kernel-error.ts";
import { RT_TABLE_MAIN } from "../../../linux/netlink/constants.ts";
import { getRoute, type Route, toRoute } from "../../../linux/netlink/route.ts";
import type { Netns } from "../../../linux/netns.ts";
import { withUser } from "../../link/in-use.ts";
import type { Kernel } from "../../link/kernel.ts";
import { isGateway, refuseAddress } from "../../link/node-address.ts";
import { withAsker } from "./refusal.ts";

/** Of one address, for all traffic: a route of another table is for some. */
export function isOfUser({ table, isLocal, destination: { family, length } }: Route): boolean {
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
 * Refuses addresses to which there is a route, or by which; of those that somebody asks for only the node's own. Where the kernel cannot tell, an address
 * counts as free.
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
    const reply = host.transact([getRoute(address)])[0]?.replies[0];
    const route = reply === undefined ? undefined : toRoute(reply);
    if (route?.index === undefined || !(isOfUser(route) || isGateway(host, address, route))) return undefined;
    return { refusal: withUser(host, refuseAddress(address)), isOwn: route.isLocal };
  } catch {
    return undefined;
  }
}
