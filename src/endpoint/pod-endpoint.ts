/** The record of a pod's attachment: what the pod and its annotations add to what every attachment has. */

import type { PodFields } from "../api/kubernetes-pod.ts";
import { toEndpointNATs } from "../api/pod-annotations.ts";
import type { EndpointNAT, WorkloadEndpoint } from "../api/workload-endpoint.ts";
import { NetplugError } from "../lib/errors.ts";
import { type Address, toAddressText } from "../lib/ip/address.ts";
import { baseOf, parsePrefix, toPrefixText } from "../lib/ip/prefix.ts";
import type { PodRequest } from "./annotations/read-pod-request.ts";
import { type AnnotatedPod, toPodText, toSourceText } from "./annotations/sources.ts";

/** What the record holds of a pod's request. */
export type RecordedPodRequest = Pick<PodRequest, "floatingIPs" | "allowedSourcePrefixes">;

/**
 * Completes the record: labels, profiles and ports are the pod's, in place of the network's.
 *
 * @param endpoint as `toWorkloadEndpoint` made it, with the pod's addresses
 * @throws {NetplugError} malformedRequest for a floating address of a family that the pod has no address of
 */
export function toPodEndpoint(endpoint: WorkloadEndpoint, fields: PodFields, request: RecordedPodRequest): WorkloadEndpoint {
  const { generateName, labels, serviceAccountName, profiles, ports } = fields;
  const nats = readEndpointNATs(endpoint, request.floatingIPs);
  return {
    ...endpoint,
    metadata: { ...endpoint.metadata, labels, ...(generateName === undefined ? {} : { generateName }) },
    spec: {
      ...endpoint.spec,
      ...(serviceAccountName === undefined ? {} : { serviceAccountName }),
      profiles,
      ...(ports.length === 0 ? {} : { ports }),
      ...(nats.length === 0 ? {} : { ipNATs: nats }),
      ...(request.allowedSourcePrefixes.length === 0
        ? {}
        : { allowSpoofedSourcePrefixes: request.allowedSourcePrefixes.map(toPrefixText) }),
    },
  };
}

function readEndpointNATs({ metadata, spec }: WorkloadEndpoint, floatingIPs: readonly Address[]): readonly EndpointNAT[] {
  if (floatingIPs.length === 0) return [];
  const own = (spec.ipNetworks ?? []).map((network) => baseOf(parsePrefix(network)));
  requireFamilies({ namespace: metadata.namespace ?? "", name: spec.pod ?? "" }, floatingIPs, own);
  return toEndpointNATs(floatingIPs, own);
}

/** @throws {NetplugError} malformedRequest for a floating address of a family that the pod has no address of */
export function requireFamilies(
  pod: Pick<AnnotatedPod, "namespace" | "name">,
  floatingIPs: readonly Address[],
  own: readonly Address[],
): void {
  const unmatched = floatingIPs.find(({ family }) => !own.some((address) => address.family === family));
  if (unmatched === undefined) return;
  throw new NetplugError(
    "malformedRequest",
    `use ${toSourceText({ annotation: "floatingIPs", object: toPodText(pod) })}: got "${toAddressText(unmatched)}", and the pod has no IPv${unmatched.family} address for it; want addresses of the pod's families`,
  );
}
