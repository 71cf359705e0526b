/** The settings of a link that a CHECK requires, and that a repeated ADD makes again. */

import type { PodLink } from "../../endpoint/pod-link.ts";
import type { SysctlWrite } from "../../linux/sysctl.ts";
import { hostSettings } from "./requests.ts";

/**
 * Those without which the host drops all that the pod sends. The others are for special cases, and others may change them: one is `forwarding` of
 * IPv6, by which an interface is a router's for its neighbours. Whether IPv6 is forwarded is said by that of all interfaces.
 */
export function neededSettings(link: Pick<PodLink, "hostName" | "addresses">): readonly SysctlWrite[] {
  return hostSettings(link, true).filter(({ path }) => /\/(?:forwarding|disable_ipv6)$/.test(path));
}
