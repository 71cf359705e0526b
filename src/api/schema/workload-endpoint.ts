/** The schema of workload endpoints, and the rules between their fields. */

import * as v from "valibot";
import { WIDTH } from "../../lib/ip/address.ts";
import { parsePrefix } from "../../lib/ip/prefix.ts";
import type { WorkloadEndpointSpec } from "../workload-endpoint.ts";
import { address, cidr, interfaceName, listOf, looseName, macAddress, oneOf, text, wholeNumber } from "./fields.ts";
import type { Problem } from "./problem.ts";

/** For records that people write; an ADD writes its own without this check. There is no CRD of endpoints. */
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

/** What one field says against another. */
export function workloadEndpointProblems(spec: WorkloadEndpointSpec): readonly Problem[] {
  const problems: Problem[] = [];
  if (spec.orchestrator === "k8s" && spec.pod === undefined)
    problems.push({ path: "spec.pod", message: `is missing; orchestrator "k8s" needs it` });
  if (spec.orchestrator === "cni" && spec.containerID === undefined) {
    problems.push({ path: "spec.containerID", message: `is missing; orchestrator "cni" needs it` });
  }
  for (const [index, network] of (spec.ipNetworks ?? []).entries()) {
    const prefix = parsePrefix(network);
    const width = WIDTH[prefix.family];
    if (prefix.length !== width)
      problems.push({ path: `spec.ipNetworks[${index}]`, message: `got "${network}", want a single address (/${width})` });
  }
  return problems;
}
