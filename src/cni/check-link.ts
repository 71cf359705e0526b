/** The kernel's part of a CHECK. */

import type { WorkloadEndpoint } from "../api/workload-endpoint.ts";
import { ANNOTATION_PREFIX } from "../api/pod-annotations.ts";
import { toOwnMac } from "../endpoint/plan-attachment.ts";
import { NEXT_HOP_V4, NEXT_HOP_V6 } from "../endpoint/pod-link.ts";
import type { Address } from "../lib/ip/address.ts";
import { type Prefix, tryParsePrefix } from "../lib/ip/prefix.ts";
import { type MacAddress, tryParseMac } from "../lib/mac-address.ts";
import { quote } from "../lib/quote.ts";
import type { Link } from "../linux/netlink/link.ts";
import { linkNamesOf, netnsOptionsOf } from "./attachment.ts";
import { type LocalCall, workloadOf } from "./call.ts";
import { findLink } from "./link/find.ts";
import { inspectLink } from "./link/inspect.ts";
import { openPodNetns } from "./link/pod-netns.ts";
import { openLinkSession } from "./link/session.ts";
import type { CniResult } from "./protocol/result.ts";

/**
 * Looks at the attachment's link.
 *
 * @param addresses what is ours of those in `prevResult`
 * @param record undefined: the datastore has none
 * @returns one sentence per fault
 * @throws NetplugError badNetns
 */
export function checkLink(
  call: LocalCall,
  previous: CniResult,
  addresses: readonly Address[],
  record: WorkloadEndpoint | undefined,
): readonly string[] {
  const { kernel } = call.host;
  const names = linkNamesOf(call);
  const podMac = record === undefined ? undefined : podMacOf(call, record);
  using netns = openPodNetns(kernel, call.environment.netns ?? "", netnsOptionsOf(call));
  using session = openLinkSession(kernel, netns, names);
  const pod = findLink(session.pod, { name: names.podName });
  return [
    ...inspectLink(session, { ...names, podMac, addresses, routes: ownRoutes(previous) }),
    ...(pod === undefined ? [] : changesOf(previous, pod, podMac)),
  ];
}

/** The record says it; on Kubernetes it is a view of the pod, which says what was asked for. */
function podMacOf(call: LocalCall, { metadata, spec }: WorkloadEndpoint): MacAddress | undefined {
  if (spec.mac !== undefined) return tryParseMac(spec.mac);
  const asked = metadata.annotations?.[`${ANNOTATION_PREFIX}hwAddr`] ?? "";
  return tryParseMac(asked) ?? call.config.runtimeConfig.mac ?? toOwnMac(workloadOf(call));
}

function ownRoutes(previous: CniResult): readonly Prefix[] {
  return previous.routes.flatMap(({ dst, gw }) => {
    const prefix = gw === NEXT_HOP_V4 || gw === NEXT_HOP_V6 ? tryParsePrefix(dst) : undefined;
    return prefix === undefined ? [] : [prefix];
  });
}

/**
 * The MAC is as the ADD set it, unless `prevResult` shows that a later plugin changed it, or does not show it. The MTU is not looked
 * at: the CNI project's `tuning` changes it without a word in its result.
 */
function changesOf({ interfaces }: CniResult, pod: Link, podMac: Link["mac"]): readonly string[] {
  const shown = interfaces.find(({ name, sandbox }) => name === pod.name && sandbox !== undefined);
  if (podMac === undefined || tryParseMac(shown?.mac ?? "") !== podMac || pod.mac === podMac) return [];
  return [`interface ${quote(pod.name)} in the pod: got MAC address ${pod.mac ?? "none"}, want ${podMac}`];
}
