/** The node's default route of IPv6, where it has learned it from a router's advertisements. */

import { RTPROT_RA } from "../../linux/netlink/constants.ts";
import { getRoute, toFoundRoute } from "../../linux/netlink/route.ts";
import type { Outcome } from "../../linux/netlink/route-socket.ts";

/** Refused where there is none, or no IPv6. */
export const DEFAULT_ROUTE_QUERY = getRoute({ family: 6, value: 0n });

/**
 * Whether {@link DEFAULT_ROUTE_QUERY} has shown such a route. The kernel deletes those of all interfaces and tables, unless `accept_ra` is 2,
 * whenever 1 is written to `forwarding` of IPv6 of any interface; the node would have no way out until the next advertisement. It does so also
 * where that is 1 already, as it is for a new interface of a node that forwards: there nothing is written, whichever route the node prefers.
 */
export function isLearned(outcome: Outcome | undefined): boolean {
  return toFoundRoute(outcome)?.protocol === RTPROT_RA;
}
