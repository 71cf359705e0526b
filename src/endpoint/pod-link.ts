/** What an ADD wants from the kernel, as plain data: the same plan on every host. */

import type { Address, Family } from "../lib/ip/address.ts";
import { equalPrefixes, type Prefix, toHostPrefix } from "../lib/ip/prefix.ts";
import { type MacAddress, tryParseMac } from "../lib/mac-address.ts";

/** One attachment's veth pair, its addresses and its routes. */
export interface PodLink {
  /** Host side, `npg` + 11 hexadecimal digits. */
  readonly hostName: string;
  /** Pod side: `CNI_IFNAME`. */
  readonly podName: string;
  /** `ifalias` of the host side: tells whose interface it is. */
  readonly alias: string;
  /** Bytes. */
  readonly mtu: number;
  /** Receive and transmit queues of both ends. */
  readonly queues: number;
  readonly podMac: MacAddress;
  /** Each is a /32 or /128 on the pod side and a route on the host side. */
  readonly addresses: readonly Address[];
  /** What the pod can reach by the link; the next hop is our link-local address of the family. */
  readonly routes: readonly Prefix[];
  /** Value of the pod's forwarding sysctls. */
  readonly allowIpForwarding: boolean;
}

/** What identifies an attachment's link. */
export type LinkNames = Pick<PodLink, "hostName" | "podName" | "alias">;

/** MAC of every host side: a constant, so that the pod's permanent neighbour entries are right whatever happens. */
export const HOST_MAC = "ee:ee:ee:ee:ee:ee" as MacAddress;

/** What {@link tryParsePodMac} reads, for messages. */
export const POD_MAC_FORM = `a unicast address aa:bb:cc:dd:ee:ff, not the host side's ${HOST_MAC}`;

/** A MAC address that somebody asks for on the pod's side. With the host side's own, the pod would take its next hop for itself. */
export function tryParsePodMac(text: string): MacAddress | undefined {
  const mac = tryParseMac(text);
  return mac === HOST_MAC ? undefined : mac;
}

/**
 * Next hop inside every pod, 169.254.1.1 and fe80::ecee:eeff:feee:eeee: in IPv6 the host side's link-local address, which follows from
 * {@link HOST_MAC}.
 */
export const NEXT_HOPS: Readonly<Record<Family, Address>> = {
  4: { family: 4, value: 0xa9fe_0101n },
  6: { family: 6, value: 0xfe80_0000_0000_0000_ecee_eeff_feee_eeeen },
};

/** The families that the pod has. */
export function familiesOf({ addresses }: Pick<PodLink, "addresses">): readonly Family[] {
  const families: Family[] = [];
  for (const { family } of addresses) if (!families.includes(family)) families.push(family);
  return families;
}

/** Routes by our next hop, each once. That to the next hop itself is part of every link. */
export function gatewayRoutesOf(routes: readonly Prefix[]): readonly Prefix[] {
  const gatewayRoutes: Prefix[] = [];
  for (const route of routes) {
    const isNextHop = equalPrefixes(route, toHostPrefix(NEXT_HOPS[route.family]));
    if (!isNextHop && !gatewayRoutes.some((one) => equalPrefixes(one, route))) gatewayRoutes.push(route);
  }
  return gatewayRoutes;
}
