/** Workload endpoints as views of pods. */

import { toHostSideName } from "../../../api/endpoint-names.ts";
import { BOUND_TO, toPodFields } from "../../../api/kubernetes-pod.ts";
import { API_VERSION } from "../../../api/resource.ts";
import type { WorkloadEndpoint } from "../../../api/workload-endpoint.ts";
import type { Pod } from "../../../kube/core-types.ts";
import type { Stored } from "../../datastore.ts";
import { toShownNATs, toShownSources } from "./annotation-fields.ts";
import { toMetadata } from "./custom-object.ts";
import { toPodEndpointName } from "./endpoint-name.ts";
import { interfacesOf, stateOf, toRevision } from "./endpoint-state.ts";
import { networksOf, unrecordedAddresses } from "./pod-addresses.ts";

/**
 * One endpoint of a pod; undefined for a pod that has no network of its own.
 *
 * @param node the name that the node gives itself, which may differ from its name in Kubernetes
 */
export function toEndpoint(pod: Pod, ifName: string, node: string): Stored<WorkloadEndpoint> | undefined {
  const state = stateOf(pod, ifName);
  if (state === undefined) return undefined;
  const { metadata, spec = {} } = pod;
  const { name = "", namespace = "", annotations = {} } = metadata;
  const { containerID = "" } = state;
  const revision = toRevision(state);
  const fields = toPodFields(pod);
  const networks = networksOf(pod, ifName);
  const unrecorded = unrecordedAddresses(pod, ifName);
  const nats = toShownNATs(annotations, networks);
  const sources = toShownSources(annotations);
  const { nodeName = "" } = spec;
  const boundTo = nodeName === "" || nodeName === node ? undefined : { [BOUND_TO]: nodeName };
  const value: WorkloadEndpoint = {
    apiVersion: API_VERSION,
    kind: "WorkloadEndpoint",
    metadata: {
      ...toMetadata(metadata),
      ...((unrecorded ?? boundTo) !== undefined && { annotations: { ...annotations, ...unrecorded, ...boundTo } }),
      name: toPodEndpointName({ node, pod: name, ifName }),
      labels: fields.labels,
      resourceVersion: revision,
    },
    spec: {
      orchestrator: "k8s",
      node,
      ...(containerID !== "" && { containerID }),
      pod: name,
      ...(fields.serviceAccountName !== undefined && { serviceAccountName: fields.serviceAccountName }),
      endpoint: ifName,
      interfaceName: toHostSideName(`${namespace}.${name}`, ifName),
      ipNetworks: networks,
      ...(nats.length > 0 && { ipNATs: nats }),
      profiles: fields.profiles,
      ...(fields.ports.length > 0 && { ports: fields.ports }),
      ...(sources.length > 0 && { allowSpoofedSourcePrefixes: sources }),
    },
  };
  return { value, revision };
}

/** All endpoints of a pod. */
export function toEndpoints(pod: Pod): readonly Stored<WorkloadEndpoint>[] {
  const { nodeName = "" } = pod.spec ?? {};
  return interfacesOf(pod).flatMap((ifName) => toEndpoint(pod, ifName, nodeName) ?? []);
}
