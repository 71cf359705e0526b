/** The settings of a link that a CHECK requires, and that a repeated ADD makes again. */

import type { PodLink } from "../../endpoint/pod-link.ts";
import type { SysctlWrite } from "../../linux/sysctl.ts";
import { hostSettings } from "./requests.ts";

/**
 * Those without which the host drops all that the pod sends. The rest is for special cases, and other programs may change it. That goes
 * for `forwarding` of IPv6, too: it makes the interface a router for its neighbours; whether IPv6 is forwarded depends on the setting of all interfaces.
 */
export function neededSettings(link: Pick<PodLink, "hostName" | "addresses">): readonly SysctlWrite[] {
  return hostSettings(link, true).filter(({ path }) => /\/(?:forwarding|disable_ipv6)$/.test(path));
}
