/** Addresses that the node needs itself: its own, which no pod can have, and those of its gateways, which no pod should be given. */

import { type Address, equalAddresses } from "../../lib/ip/address.ts";
import { toHostPrefix, toPrefixText } from "../../lib/ip/prefix.ts";
import { EEXIST } from "../../linux/errno.ts";
import { KernelError } from "../../linux/kernel-error.ts";
import { listRoutes, type Route, toRoutes } from "../../linux/netlink/route.ts";
import type { RouteSocket } from "../../linux/netlink/route-socket.ts";

/** What an address in use is refused with, unless it is the kernel that refuses a route to it. */
export const USE_ADDRESS = "use address";

/** Such a refusal, of which `withUser()` says why. */
export function refuseAddress(address: Address): KernelError {
  return new KernelError({ operation: USE_ADDRESS, object: toPrefixText(toHostPrefix(address)), errno: EEXIST });
}

/**
 * Whether the node has a route by the address: what it sends to that gateway would reach the pod.
 *
 * @param route the node's to the address, before a pod has it. Only where that says it is a neighbour, all others are looked at
 */
export function isGateway(host: RouteSocket, address: Address, { index, gateway }: Route): boolean {
  if (index === undefined || gateway !== undefined) return false;
  const routes = host.dump(listRoutes(address.family)).flatMap(toRoutes);
  return routes.some((one) => one.index === index && one.gateway !== undefined && equalAddresses(one.gateway, address));
}
