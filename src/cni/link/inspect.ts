/** Comparing an attachment's link with what it should be: CHECK, and an ADD that is repeated. */

import { type Address, equalAddresses, toAddressText } from "../../lib/ip/address.ts";
import { equalPrefixes, type Prefix, toHostPrefix, toPrefixText } from "../../lib/ip/prefix.ts";
import { quote } from "../../lib/quote.ts";
import { RT_TABLE_MAIN } from "../../linux/netlink/constants.ts";
import { listAddresses, toLinkAddress } from "../../linux/netlink/link-address.ts";
import type { Link } from "../../linux/netlink/link.ts";
import { listNeighbours, toNeighbour } from "../../linux/netlink/neighbour.ts";
import { getRoute, listRoutes, type Route, RTPROT_NETPLUG, toFoundRoute, toRoutes } from "../../linux/netlink/route.ts";
import type { RouteSocket } from "../../linux/netlink/route-socket.ts";
import { familiesOf, gatewayRoutesOf, HOST_MAC, type LinkNames, NEXT_HOPS, type PodLink } from "../../endpoint/pod-link.ts";
import { findLink, isPair } from "./find.ts";
import type { LinkSockets } from "./sockets.ts";

/** What an inspection requires. Not MTU, queues and the pod's MAC: others may change them. */
export type WantedLink = LinkNames &
  Pick<PodLink, "addresses" | "routes"> & {
    /** The record's MAC. Permanent neighbours are required only while the interface has it. */
    readonly podMac: PodLink["podMac"] | undefined;
  };

/**
 * Looks at both sides. Changes nothing, and reads the host's routes one by one, never all.
 *
 * @param wanted for a CHECK: only what we set up, as `prevResult` names it
 * @returns one sentence per fault, the pod's side first; empty when the link is complete
 * @throws {KernelError}
 */
export function inspectLink(sockets: LinkSockets, wanted: WantedLink): readonly string[] {
  const pod = findLink(sockets.pod, { name: wanted.podName });
  const host = findLink(sockets.host, { name: wanted.hostName });
  return [...inspectPodSide(sockets, wanted, pod), ...inspectHostSide(sockets.host, wanted, host), ...inspectPair(wanted, host, pod)];
}

function inspectPair(wanted: WantedLink, host: Link | undefined, pod: Link | undefined): readonly string[] {
  if (host === undefined || pod === undefined || isPair(host, pod)) return [];
  return [`interface ${quote(wanted.podName)} in the pod: its other end is not ${quote(wanted.hostName)}`];
}

function inspectPodSide({ pod, netns }: LinkSockets, wanted: WantedLink, link: Link | undefined): readonly string[] {
  const name = `interface ${quote(wanted.podName)} in the pod`;
  if (link === undefined) return [`${name}: missing in network namespace ${quote(netns.path)}`];
  return [
    ...(link.isUp ? [] : [`${name}: down`]),
    ...missingAddresses(pod, wanted.addresses, link).map((address) => `${name}: address ${quote(toAddressText(address))} is missing`),
    ...missingRoutes(pod, wanted, link).map((route) => `${name}: route ${quote(toPrefixText(route))} is missing`),
    ...missingNeighbours(pod, wanted, link).map((address) => `${name}: permanent neighbour ${quote(toAddressText(address))} is missing`),
  ];
}

function inspectHostSide(host: RouteSocket, wanted: WantedLink, link: Link | undefined): readonly string[] {
  const name = `interface ${quote(wanted.hostName)} on the host`;
  if (link === undefined) return [`${name}: missing`];
  return [
    ...(link.alias === wanted.alias ? [] : [`${name}: got alias ${quote(link.alias ?? "")}, want ${quote(wanted.alias)}`]),
    ...(link.isUp ? [] : [`${name}: down`]),
    ...(link.mac === HOST_MAC ? [] : [`${name}: got MAC address ${link.mac}, want ${HOST_MAC}`]),
    ...wanted.addresses
      .filter((address) => !hasHostRoute(host, address, link))
      .map((address) => `${name}: route ${quote(toAddressText(address))} is missing`),
  ];
}

function missingAddresses(pod: RouteSocket, wanted: readonly Address[], link: Link): readonly Address[] {
  const actual = pod.dump(listAddresses(link.index)).map(toLinkAddress);
  return wanted.filter(
    (address) => !actual.some((one) => one?.index === link.index && !one.isTentative && equalAddresses(one.address, address)),
  );
}

function missingRoutes(pod: RouteSocket, wanted: WantedLink, link: Link): readonly Prefix[] {
  const viaNextHop = gatewayRoutesOf(wanted.routes);
  const families = ([4, 6] as const).filter((family) => viaNextHop.some((route) => route.family === family));
  const actual = families.flatMap((family) => pod.dump(listRoutes(family)).flatMap(toRoutes));
  return viaNextHop.filter((route) => !actual.some((one) => isRouteVia(one, route, link)));
}

/** Destinations of the routes through the next hop that we gave the pod's interface. */
export function routesThere(pod: RouteSocket, link: Link): readonly Prefix[] {
  return ([4, 6] as const).flatMap((family) =>
    pod
      .dump(listRoutes(family))
      .flatMap(toRoutes)
      .flatMap((one) => (one.protocol === RTPROT_NETPLUG && isRouteVia(one, one.destination, link) ? [one.destination] : [])),
  );
}

function isRouteVia(route: Route, destination: Prefix, link: Link): boolean {
  const isSame = route.table === RT_TABLE_MAIN && route.index === link.index && equalPrefixes(route.destination, destination);
  return isSame && route.gateway !== undefined && equalAddresses(route.gateway, NEXT_HOPS[destination.family]);
}

/** When the MAC changes, the kernel drops the interface's neighbours. A changed MAC is no fault, so they are not required then. */
function missingNeighbours(pod: RouteSocket, wanted: WantedLink, link: Link): readonly Address[] {
  if (link.mac !== wanted.podMac) return [];
  const actual = pod.dump(listNeighbours()).map(toNeighbour);
  return familiesOf(wanted)
    .map((family) => NEXT_HOPS[family])
    .filter(
      (nextHop) =>
        !actual.some((one) => one?.index === link.index && one.isPermanent && one.mac === HOST_MAC && equalAddresses(one.address, nextHop)),
    );
}

/** Asks the kernel for the route to the address, instead of listing routes, of which the node may have thousands. */
function hasHostRoute(host: RouteSocket, address: Address, link: Link): boolean {
  const route = toFoundRoute(host.transact([getRoute(address)])[0]);
  return route?.index === link.index && equalPrefixes(route.destination, toHostPrefix(address));
}
