/** Links for tests. */

import { parseAddress } from "../../../src/lib/ip/address.ts";
import { parsePrefix } from "../../../src/lib/ip/prefix.ts";
import { parseMac } from "../../../src/lib/mac-address.ts";
import type { PodLink } from "../../../src/endpoint/pod-link.ts";

/** What differs from an ordinary pod's; addresses and routes as text. */
export interface PodLinkText extends Partial<Omit<PodLink, "addresses" | "routes" | "podMac">> {
  readonly addresses?: readonly string[];
  readonly routes?: readonly string[];
  readonly podMac?: string;
}

/** The link of a container; default routes of its addresses' families unless told otherwise. */
export function podLink(containerID: string, more: PodLinkText = {}): PodLink {
  const addresses = more.addresses ?? ["10.65.0.7"];
  const defaults = [
    ...(addresses.some((text) => !text.includes(":")) ? ["0.0.0.0/0"] : []),
    ...(addresses.some((text) => text.includes(":")) ? ["::/0"] : []),
  ];
  const { podName = "eth0" } = more;
  return {
    hostName: `npg${Bun.hash(containerID).toString(16).padStart(16, "0").slice(0, 11)}`,
    alias: `netplug:test-net:${containerID}:${podName}`,
    mtu: 1500,
    queues: 1,
    allowIpForwarding: false,
    ...more,
    podName,
    podMac: parseMac(more.podMac ?? "02:11:22:33:44:55"),
    addresses: addresses.map(parseAddress),
    routes: (more.routes ?? defaults).map(parsePrefix),
  };
}
