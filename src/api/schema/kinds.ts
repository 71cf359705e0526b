/** The schemas of the small kinds, each with the rules between its fields. */

import * as v from "valibot";
import { parsePrefix } from "../../lib/ip/prefix.ts";
import type { IPAMConfigurationSpec } from "../ipam-configuration.ts";
import { MAX_BLOCKS_PER_HOST_LIMIT, MAX_IP_COOLDOWN_SECONDS, withIPAMConfigurationDefaults } from "../ipam-configuration.ts";
import { BUILT_IN_TIERS, type TierSpec } from "../tier.ts";
import type { WorkloadEndpointSpec } from "../workload-endpoint.ts";
import {
  address,
  addressWithLength,
  atMost,
  boolean,
  cidr,
  interfaceName,
  labels,
  listOf,
  listOfAtMost,
  looseName,
  macAddress,
  matching,
  oneOf,
  text,
  wholeNumber,
} from "./fields.ts";
import type { Problem } from "./problem.ts";
import { MAX_RULES, ruleSchema, rulesProblems } from "./rule.ts";
import type { ProfileSpec } from "../profile.ts";

/** An API server checks every entry, and refuses a list whose checks could take too long. */
const MAX_RESERVED = 10_000;
const MAX_LABELS = 1_000;

export const ipReservationSpec = v.object({ reservedCIDRs: v.exactOptional(listOfAtMost(MAX_RESERVED, cidr)) });

export const ipamConfigurationSpec = v.object({
  strictAffinity: v.exactOptional(boolean),
  autoAllocateBlocks: v.exactOptional(boolean),
  maxBlocksPerHost: v.exactOptional(wholeNumber(0, MAX_BLOCKS_PER_HOST_LIMIT)),
  ipCooldownSeconds: v.exactOptional(wholeNumber(0, MAX_IP_COOLDOWN_SECONDS)),
});

/** Without strict affinity nobody owns a block that nobody may claim. */
export function ipamConfigurationProblems(spec: IPAMConfigurationSpec): readonly Problem[] {
  const { strictAffinity, autoAllocateBlocks } = withIPAMConfigurationDefaults(spec);
  if (strictAffinity || autoAllocateBlocks) return [];
  return [{ path: "spec.autoAllocateBlocks", message: "got false together with strictAffinity false, want one of them true" }];
}

export const clusterInformationSpec = v.object({
  guid: v.exactOptional(matching(/^[0-9a-f]{32}$/, "32 hexadecimal digits in lower case")),
  type: v.exactOptional(text),
  version: v.exactOptional(text),
  datastoreReady: v.exactOptional(boolean),
  datastoreFrozen: v.exactOptional(boolean),
});

const asNumber = v.union(
  [wholeNumber(1, 4_294_967_295), v.pipe(v.string(), v.regex(/^[0-9]{1,5}\.[0-9]{1,5}$/))],
  "want 1..4294967295 or `high.low`",
);

export const nodeSpec = v.object({
  bgp: v.exactOptional(
    v.object({
      asNumber: v.exactOptional(asNumber),
      ipv4Address: v.exactOptional(addressWithLength),
      ipv6Address: v.exactOptional(addressWithLength),
      ipv4IPIPTunnelAddr: v.exactOptional(address),
      routeReflectorClusterID: v.exactOptional(address),
    }),
  ),
  ipv4VXLANTunnelAddr: v.exactOptional(address),
  ipv6VXLANTunnelAddr: v.exactOptional(address),
  vxlanTunnelMACAddr: v.exactOptional(macAddress),
  vxlanTunnelMACAddrV6: v.exactOptional(macAddress),
  wireguard: v.exactOptional(v.object({ interfaceIPv4Address: v.exactOptional(address), interfaceIPv6Address: v.exactOptional(address) })),
  orchRefs: v.exactOptional(listOf(v.object({ nodeName: v.exactOptional(text), orchestrator: text }))),
  addresses: v.exactOptional(
    listOf(v.object({ address: addressWithLength, type: v.exactOptional(oneOf("NetplugNodeIP", "InternalIP", "ExternalIP")) })),
  ),
  interfaces: v.exactOptional(listOf(v.object({ name: text, addresses: v.exactOptional(listOf(addressWithLength)) }))),
  podCIDRs: v.exactOptional(listOf(cidr)),
});

export const profileSpec = v.object({
  ingress: v.exactOptional(listOfAtMost(MAX_RULES, ruleSchema)),
  egress: v.exactOptional(listOfAtMost(MAX_RULES, ruleSchema)),
  labelsToApply: v.exactOptional(atMost(MAX_LABELS, labels)),
});

export function profileProblems(spec: ProfileSpec): readonly Problem[] {
  return [...rulesProblems(spec.ingress ?? [], "ingress"), ...rulesProblems(spec.egress ?? [], "egress")];
}

export const tierSpec = v.object({
  order: v.exactOptional(v.pipe(v.number("want a number"), v.finite("want a number"))),
  defaultAction: v.exactOptional(oneOf("Deny", "Pass")),
});

/** Built-in tiers keep their values. */
export function tierProblems(spec: TierSpec, name: string): readonly Problem[] {
  const builtIn = BUILT_IN_TIERS.find((tier) => tier.name === name)?.spec;
  if (builtIn === undefined) return [];
  const problems: Problem[] = [];
  if (spec.order !== builtIn.order) {
    problems.push({ path: "spec.order", message: `got ${spec.order ?? "nothing"}, want ${builtIn.order}: tier "${name}" is built in` });
  }
  if ((spec.defaultAction ?? "Deny") !== builtIn.defaultAction) {
    problems.push({
      path: "spec.defaultAction",
      message: `got "${spec.defaultAction ?? "Deny"}", want "${builtIn.defaultAction}": tier "${name}" is built in`,
    });
  }
  return problems;
}

export const workloadEndpointSpec = v.object({
  orchestrator: oneOf("k8s", "cni"),
  node: looseName,
  network: v.exactOptional(looseName),
  containerID: v.exactOptional(looseName),
  pod: v.exactOptional(text),
  serviceAccountName: v.exactOptional(text),
  endpoint: interfaceName,
  interfaceName: v.exactOptional(interfaceName),
  mac: v.exactOptional(macAddress),
  ipNetworks: v.exactOptional(listOf(cidr)),
  ipNATs: v.exactOptional(listOf(v.object({ internalIP: address, externalIP: address }))),
  ipv4Gateway: v.exactOptional(address),
  ipv6Gateway: v.exactOptional(address),
  profiles: v.exactOptional(listOf(text)),
  ports: v.exactOptional(
    listOf(
      v.object({
        name: v.exactOptional(text),
        protocol: oneOf("TCP", "UDP", "SCTP"),
        port: wholeNumber(1, 65_535),
        hostPort: v.exactOptional(wholeNumber(0, 65_535)),
        hostIP: v.exactOptional(text),
      }),
    ),
  ),
  allowSpoofedSourcePrefixes: v.exactOptional(listOf(cidr)),
});

export function workloadEndpointProblems(spec: WorkloadEndpointSpec): readonly Problem[] {
  const problems: Problem[] = [];
  if (spec.orchestrator === "k8s" && spec.pod === undefined)
    problems.push({ path: "spec.pod", message: `is missing; orchestrator "k8s" needs it` });
  if (spec.orchestrator === "cni" && spec.containerID === undefined) {
    problems.push({ path: "spec.containerID", message: `is missing; orchestrator "cni" needs it` });
  }
  for (const [index, network] of (spec.ipNetworks ?? []).entries()) {
    const prefix = parsePrefix(network);
    const width = prefix.family === 4 ? 32 : 128;
    if (prefix.length !== width)
      problems.push({ path: `spec.ipNetworks[${index}]`, message: `got "${network}", want a single address (/${width})` });
  }
  return problems;
}
