/** Who uses an address on the node, although nobody has it allocated. Loaded only when it has been refused. */

import { equalAddresses, toAddressText } from "../../lib/ip/address.ts";
import { baseOf, equalPrefixes, type Prefix, toPrefixText, tryParsePrefix } from "../../lib/ip/prefix.ts";
import { quote } from "../../lib/quote.ts";
import { KernelError } from "../../linux/kernel-error.ts";
import { RT_TABLE_MAIN } from "../../linux/netlink/constants.ts";
import { listRoutes, type Route, toRoutes } from "../../linux/netlink/route.ts";
import type { RouteSocket } from "../../linux/netlink/route-socket.ts";
import { findLink } from "./find.ts";
import { USE_ADDRESS } from "./node-address.ts";

/** The refusal of an address, of the kernel or of ours, with who has it, by the routes of the node, and what to do. */
export function withUser(host: RouteSocket, refusal: KernelError): KernelError {
  const destination = tryParsePrefix(refusal.object);
  if (destination === undefined) return refusal;
  const { operation, object, errno } = refusal;
  return new KernelError({ operation, object, errno, reason: describeUser(host, operation, destination) });
}

/** @returns undefined where the kernel does not tell */
function describeUser(host: RouteSocket, operation: string, destination: Prefix): string | undefined {
  const routes = listRoutesOf(host, destination);
  const address = baseOf(destination);
  const to = routes.filter((route) => equalPrefixes(route.destination, destination));
  if (operation === USE_ADDRESS) {
    const own = to.find(({ isLocal }) => isLocal);
    if (own !== undefined) return `it is the node's own${ofLink(host, own)}, so no pod can have it; reserve it by an IPReservation`;
    const by = routes.find(({ gateway }) => gateway !== undefined && equalAddresses(gateway, address));
    if (by !== undefined)
      return `it is the gateway of the node's route to ${quote(toPrefixText(by.destination))}, so no pod is given it; reserve it by an IPReservation`;
  }
  const inTheWay = to.find(({ table }) => table === RT_TABLE_MAIN);
  if (inTheWay === undefined) return undefined;
  const user = nameOf(host, inTheWay);
  if (user === undefined) return "another route to it exists; delete it";
  return `interface ${quote(user)} has a route to it; delete that interface, or the route, if nothing uses ${toAddressText(address)} there`;
}

function listRoutesOf(host: RouteSocket, { family }: Prefix): readonly Route[] {
  return host.dump(listRoutes(family)).flatMap(toRoutes);
}

function ofLink(host: RouteSocket, route: Route): string {
  const name = nameOf(host, route);
  return name === undefined ? "" : `, of interface ${quote(name)}`;
}

function nameOf(host: RouteSocket, { index }: Route): string | undefined {
  return index === undefined ? undefined : findLink(host, { index })?.name;
}
