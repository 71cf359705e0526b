/**
 * What a {@link PodLink} asks of the kernel, as plain requests.
 *
 * Why the routes are arranged like this: the pod has its addresses as /32 and /128, so no neighbour is "on the link", and all its traffic
 * goes to the host. Its next hop is link-local, the same in every pod; its MAC is a permanent neighbour, so nothing
 * waits for an answer, and a host without default route (whose kernel would not answer for 169.254.1.1) works too. On the host each
 * address is a route to its veth, so pods reach each other through the host's routing, where policy is applied.
 */

import type { Family } from "../../lib/ip/address.ts";
import { type Prefix, toHostPrefix } from "../../lib/ip/prefix.ts";
import { addAddress } from "../../linux/netlink/address.ts";
import { LOOPBACK_IFINDEX, RTPROT_RA } from "../../linux/netlink/constants.ts";
import { type Ifindex, setLinkUp } from "../../linux/netlink/link.ts";
import { setPermanentNeighbour } from "../../linux/netlink/neighbour.ts";
import type { NetlinkRequest } from "../../linux/netlink/request.ts";
import { addRoute, getRoute, toFoundRoute } from "../../linux/netlink/route.ts";
import type { Outcome } from "../../linux/netlink/route-socket.ts";
import type { SysctlWrite } from "../../linux/sysctl.ts";
import { familiesOf, HOST_MAC, NEXT_HOPS, type PodLink } from "../../endpoint/pod-link.ts";

/** `fe80::…/64`. */
const LINK_LOCAL_LENGTH = 64;

/** The metric that the kernel gives a route when none is set. */
const DEFAULT_METRICS: Readonly<Record<Family, number>> = { 4: 0, 6: 1024 };

/** Asks for the node's default route of IPv6. Refused where there is none, or no IPv6. */
export const DEFAULT_ROUTE_QUERY = getRoute({ family: 6, value: 0n });

/**
 * Whether {@link DEFAULT_ROUTE_QUERY} has shown one that the node has learned from a router's advertisements. The kernel deletes those of all
 * interfaces and tables, unless `accept_ra` is 2, whenever 1 is written to `forwarding` of IPv6 of any interface; the node would have no way out until
 * the next advertisement. It does so also where that is 1 already, as it is for a new interface of a node that forwards: there nothing is written,
 * whichever route the node prefers.
 */
export function isLearned(outcome: Outcome | undefined): boolean {
  return toFoundRoute(outcome)?.protocol === RTPROT_RA;
}

/**
 * Settings of the host side; before it is up, so that its link-local address is usable at once.
 *
 * @param leavesForwarding whether `forwarding` of IPv6 stays as the node sets it for new interfaces, because of {@link isLearned}. Whether the node
 *   forwards IPv6 depends on the setting of all interfaces, not on this one
 */
export function hostSettings(link: Pick<PodLink, "hostName" | "addresses">, leavesForwarding: boolean): readonly SysctlWrite[] {
  const { hostName } = link;
  const families = familiesOf(link);
  const v4: readonly SysctlWrite[] = [
    { path: `ipv4/conf/${hostName}/route_localnet`, value: "1" },
    { path: `ipv4/neigh/${hostName}/proxy_delay`, value: "0", isOptional: true },
    { path: `ipv4/conf/${hostName}/proxy_arp`, value: "1" },
    { path: `ipv4/conf/${hostName}/forwarding`, value: "1" },
  ];
  const v6: readonly SysctlWrite[] = [
    { path: `ipv6/conf/${hostName}/accept_dad`, value: "0" },
    { path: `ipv6/conf/${hostName}/disable_ipv6`, value: "0" },
    { path: `ipv6/conf/${hostName}/proxy_ndp`, value: "1" },
    ...(leavesForwarding ? [] : [{ path: `ipv6/conf/${hostName}/forwarding`, value: "1", isSkippedIfEqual: true }]),
  ];
  return [
    ...(families.includes(4) ? v4 : []),
    ...(families.includes(6) ? v6 : []),
    { path: `ipv6/conf/${hostName}/accept_ra`, value: "0", isOptional: true },
  ];
}

/** Settings inside the pod; before the interface is up and before it gets IPv6 addresses. */
export function podSettings(link: Pick<PodLink, "podName" | "addresses" | "allowIpForwarding">): readonly SysctlWrite[] {
  const families = familiesOf(link);
  const forwarding = link.allowIpForwarding ? "1" : "0";
  const v6: readonly SysctlWrite[] = [
    { path: "ipv6/conf/all/disable_ipv6", value: "0" },
    { path: "ipv6/conf/default/disable_ipv6", value: "0" },
    { path: "ipv6/conf/lo/disable_ipv6", value: "0" },
    { path: `ipv6/conf/${link.podName}/accept_dad`, value: "0" },
    { path: "ipv6/conf/all/forwarding", value: forwarding },
  ];
  return [...(families.includes(4) ? [{ path: "ipv4/ip_forward", value: forwarding }] : []), ...(families.includes(6) ? v6 : [])];
}

/** Everything inside the pod except its routes by our next hop, in the only order that the kernel accepts. */
export function podRequests(link: PodLink, index: Ifindex): readonly NetlinkRequest[] {
  const requests = [setLinkUp(LOOPBACK_IFINDEX, "lo"), setLinkUp(index, link.podName)];
  for (const address of link.addresses) requests.push(addAddress({ index, address }));
  for (const family of familiesOf(link)) {
    const nextHop = NEXT_HOPS[family];
    requests.push(setPermanentNeighbour(index, nextHop, HOST_MAC));
    // The IPv6 next hop is link-local and reachable without a route. The pod's other interfaces have the same one.
    if (family === 4) requests.push(addRoute({ destination: toHostPrefix(nextHop), index, isAppended: true }));
  }
  return requests;
}

/**
 * A route of the pod by our next hop.
 *
 * @param isSecondChoice another interface of the pod, added before, has a route to the same destination, and keeps the better metric
 */
export function gatewayRoute(destination: Prefix, index: Ifindex, isSecondChoice = false): NetlinkRequest {
  const { family } = destination;
  const gateway = NEXT_HOPS[family];
  if (!isSecondChoice) return addRoute({ destination, index, gateway });
  return addRoute({ destination, index, gateway, metric: DEFAULT_METRICS[family] + index });
}

/** Brings the host side up, and adds its routes. */
export function hostRequests(link: PodLink, index: Ifindex): readonly NetlinkRequest[] {
  const requests = [setLinkUp(index, link.hostName)];
  if (familiesOf(link).includes(6)) requests.push(addAddress({ index, address: NEXT_HOPS[6], length: LINK_LOCAL_LENGTH, scope: "link" }));
  for (const address of link.addresses) requests.push(addRoute({ destination: toHostPrefix(address), index }));
  return requests;
}
