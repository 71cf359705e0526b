/**
 * Addresses that no pod can have: the node's own, and those to which a better route leads elsewhere. And those of the node's gateways, which no pod
 * should be given.
 */

import { type Address, equalAddresses, toAddressBytes } from "../../lib/ip/address.ts";
import { toHostPrefix, toPrefixText } from "../../lib/ip/prefix.ts";
import { EEXIST, ENETUNREACH } from "../../linux/errno.ts";
import { KernelError } from "../../linux/kernel-error.ts";
import { getRoute, listRoutes, type Route, toFoundRoute, toRoutes } from "../../linux/netlink/route.ts";
import type { RouteSocket } from "../../linux/netlink/route-socket.ts";

/** What an address in use is refused with, unless it is the kernel that refuses a route to it. */
export const USE_ADDRESS = "use address";

/**
 * Refuses addresses that the node needs itself, and those that a route of somebody else would keep from the pod. Call it before there is a route
 * to them: what the node sends to a gateway must not come to the pod, not even until the undo, and what it sends to itself never would.
 *
 * @param mayBeGateways whether the node may have routes by them
 * @throws {KernelError}
 */
export function requireUnneeded(host: RouteSocket, addresses: readonly Address[], mayBeGateways: boolean): void {
  const outcomes = host.transact(addresses.map((address) => getRoute(address)));
  for (const [i, address] of addresses.entries()) {
    const route = toFoundRoute(outcomes[i]);
    const isRefused = route
      ? route.isLocal || route.hidesOthers || (!mayBeGateways && isGateway(host, address, route))
      : outcomes[i]?.error?.errno !== ENETUNREACH && isDropped(host, address);
    if (isRefused) throw refuseAddress(address);
  }
}

/** Such a refusal, of which `withUser()` says why. */
export function refuseAddress(address: Address): KernelError {
  return new KernelError({ operation: USE_ADDRESS, object: toPrefixText(toHostPrefix(address)), errno: EEXIST });
}

/**
 * Whether the node has a route by the address: what it sends to that gateway would reach the pod.
 *
 * @param route how the node reaches the address before a pod has it. Only if that is as a neighbour, all other routes are looked at
 */
export function isGateway(host: RouteSocket, address: Address, { index, gateway }: Route): boolean {
  // The gateway of an "onlink" route may itself be reached by that route.
  if (gateway !== undefined) return equalAddresses(gateway, address);
  if (index === undefined) return false;
  return routesNaming(host, address).some((one) => one.gateway !== undefined && equalAddresses(one.gateway, address));
}

/**
 * Whether a better route leads nowhere: blackhole, unreachable or prohibit. The kernel does not show the route that it has found then. Whether that
 * was to this address or to many, in this table or another, only a look at all of them tells.
 */
function isDropped(host: RouteSocket, address: Address): boolean {
  return address.family === 6 && routesNaming(host, address).some((one) => one.hidesOthers && one.destination.base === address.value);
}

/** Routes in which the address stands somewhere, of all tables. */
export function routesNaming(host: RouteSocket, address: Address): readonly Route[] {
  const bytes = toAddressBytes(address);
  // There may be 100,000 routes, and to take one apart costs more than all else.
  const naming = host.dump(listRoutes(address.family)).filter(({ payload }) => Buffer.from(payload).includes(bytes));
  return naming.flatMap(toRoutes);
}
