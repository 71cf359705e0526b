/** The kernel's part of a CHECK. */

import { type LinkNames, NEXT_HOPS } from "../../endpoint/pod-link.ts";
import { type Address, equalAddresses, toAddressText } from "../../lib/ip/address.ts";
import { toCidrText, tryParseCidr } from "../../lib/ip/cidr.ts";
import { type Prefix, tryParsePrefix } from "../../lib/ip/prefix.ts";
import { type MacAddress, tryParseMac } from "../../lib/mac-address.ts";
import type { Files } from "../../lib/ports.ts";
import { quote } from "../../lib/quote.ts";
import { listAddresses, toLinkAddress } from "../../linux/netlink/link-address.ts";
import type { Link } from "../../linux/netlink/link.ts";
import type { RouteSocket } from "../../linux/netlink/route-socket.ts";
import type { Netns } from "../../linux/netns.ts";
import type { SysctlWrite } from "../../linux/sysctl.ts";
import type { CniResult } from "../protocol/result.ts";
import { findLink } from "./find.ts";
import { inspectLink } from "./inspect.ts";
import type { Kernel } from "./kernel.ts";
import { neededSettings } from "./needed-settings.ts";
import { openLinkSockets } from "./sockets.ts";

/** Our next hops, as a result writes them. */
const OWN_GATEWAYS: readonly (string | undefined)[] = [NEXT_HOPS[4], NEXT_HOPS[6]].map(toAddressText);

/** What the link must have. */
export interface CheckedLink {
  readonly names: LinkNames;
  /** The addresses in `prevResult` that we gave. */
  readonly addresses: readonly Address[];
  /** undefined: unknown, not checked. */
  readonly podMac: MacAddress | undefined;
}

/** Where to look. */
interface CheckedHost {
  readonly kernel: Kernel;
  readonly files: Files;
}

/** Looks at an attachment's link. @returns one sentence per fault @throws {NetplugError} */
export function checkLink(
  { kernel, files }: CheckedHost,
  netns: Netns,
  { names, addresses, podMac }: CheckedLink,
  previous: CniResult,
): readonly string[] {
  using sockets = openLinkSockets(kernel, netns, names);
  const pod = findLink(sockets.pod, { name: names.podName });
  return [
    ...inspectLink(sockets, { ...names, podMac, addresses, routes: ownRoutes(previous) }),
    ...(pod === undefined ? [] : [...changesOf(previous, pod, podMac), ...changedLengths(sockets.pod, pod, addresses, previous)]),
    ...(findLink(sockets.pod, { name: "lo" })?.isUp === false ? ['interface "lo" in the pod: down'] : []),
    ...changedSettings(files, neededSettings({ hostName: names.hostName, addresses })),
  ];
}

function changedSettings(files: Files, settings: readonly SysctlWrite[]): readonly string[] {
  return settings.flatMap(({ path, value }) => {
    const found = files.readText(`/proc/sys/net/${path}`)?.trim();
    return found === undefined || found === value ? [] : [`setting "net/${path}" on the host: got ${quote(found)}, want "${value}"`];
  });
}

function ownRoutes(previous: CniResult): readonly Prefix[] {
  return previous.routes.flatMap(({ dst, gw }) => {
    const prefix = OWN_GATEWAYS.includes(gw) ? tryParsePrefix(dst) : undefined;
    return prefix === undefined ? [] : [prefix];
  });
}

/**
 * The MAC must be the one that the ADD set, unless `prevResult` shows another one, which a later plugin set, or none. The MTU is not
 * checked: the CNI project's `tuning` changes it, and its result does not say so.
 */
function changesOf({ interfaces }: CniResult, pod: Link, podMac: Link["mac"]): readonly string[] {
  const shown = interfaces.find(({ name, sandbox }) => name === pod.name && sandbox !== undefined);
  if (podMac === undefined || tryParseMac(shown?.mac ?? "") !== podMac || pod.mac === podMac) return [];
  return [`interface ${quote(pod.name)} in the pod: got MAC address ${pod.mac ?? "none"}, want ${podMac}`];
}

/** Where an address is there, but with another prefix length, the pod looks for others on its link, where there is nobody but the host. */
function changedLengths(socket: RouteSocket, pod: Link, addresses: readonly Address[], { ips }: CniResult): readonly string[] {
  const actual = socket.dump(listAddresses(pod.index)).map(toLinkAddress);
  return addresses.flatMap((address) => {
    const wanted = ips.map((ip) => tryParseCidr(ip.address)).find((one) => one !== undefined && equalAddresses(one.address, address));
    const found = actual.filter((one) => one?.index === pod.index && equalAddresses(one.address, address));
    const [other] = found;
    if (wanted === undefined || other === undefined || found.some((one) => one?.length === wanted.length)) return [];
    return [`interface ${quote(pod.name)} in the pod: got address "${toCidrText(other)}", want "${toCidrText(wanted)}"`];
  });
}
