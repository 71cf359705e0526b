/** The settings of a link that a CHECK requires, and that a repeated ADD makes again. */

import type { PodLink } from "../../endpoint/pod-link.ts";
import type { SysctlWrite } from "../../linux/sysctl.ts";
import type { RouteSocket } from "../../linux/netlink/route-socket.ts";
import { DEFAULT_ROUTE_QUERY, isLearned } from "./learned-route.ts";
import { hostSettings } from "./requests.ts";

/** Those without which the host drops all that the pod sends. The others are for special cases, and others may change them. */
export function neededSettings(host: RouteSocket, link: Pick<PodLink, "hostName" | "addresses">): readonly SysctlWrite[] {
  const [defaultRoute] = host.transact([DEFAULT_ROUTE_QUERY]);
  return hostSettings(link, isLearned(defaultRoute)).filter(({ path }) => /\/(?:forwarding|disable_ipv6)$/.test(path));
}
