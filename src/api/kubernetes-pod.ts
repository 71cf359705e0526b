/** A pod of Kubernetes as policy sees it: labels, profiles and ports of its endpoint. */

import type { ContainerPort, Pod } from "../kube/core-types.ts";
import { ENDPOINT_LABELS, type EndpointPort } from "./workload-endpoint.ts";

/**
 * Annotation that an endpoint of Kubernetes shows where the pod's node has another name there than in the endpoint: that name. For its space no
 * API server takes it, so that no pod's owner can forge it.
 */
export const BOUND_TO = "netplug.io/bound to";

/** What the endpoint of a pod has from the pod. */
export interface PodFields {
  readonly labels: Readonly<Record<string, string>>;
  readonly generateName: string | undefined;
  readonly serviceAccountName: string | undefined;
  /** Of its namespace, then of its service account. */
  readonly profiles: readonly string[];
  readonly ports: readonly EndpointPort[];
}

/** Keys of labels that an endpoint inherits from its namespace and its service account; a pod that sets one would claim theirs. */
const INHERITED_PREFIXES = ["pcns.", "pcsa."] as const;

const SYSTEM_LABELS: ReadonlySet<string> = new Set(Object.values(ENDPOINT_LABELS));

/** Longest value of a label. */
const LABEL_VALUE_LENGTH = 63;

/** Name of the profile that a namespace stands for. */
function toNamespaceProfile(namespace: string): string {
  return `kns.${namespace}`;
}

/** Name of the profile that a service account stands for. */
function toServiceAccountProfile(namespace: string, serviceAccount: string): string {
  return `ksa.${namespace}.${serviceAccount}`;
}

/** What the record of a workload endpoint takes over from its pod. */
export function toPodFields({ metadata, spec = {} }: Pod): PodFields {
  const { namespace = "" } = metadata;
  const serviceAccount = spec.serviceAccountName === "" ? undefined : spec.serviceAccountName;
  return {
    labels: toLabels(metadata.labels ?? {}, namespace, serviceAccount),
    generateName: metadata.generateName === "" ? undefined : metadata.generateName,
    serviceAccountName: serviceAccount,
    profiles: [
      toNamespaceProfile(namespace),
      ...(serviceAccount === undefined ? [] : [toServiceAccountProfile(namespace, serviceAccount)]),
    ],
    ports: [...(spec.containers ?? []), ...(spec.initContainers ?? [])].flatMap(({ ports }) => (ports ?? []).flatMap(toEndpointPort)),
  };
}

/** The labels that a pod has by itself: of those of a pod, or of its endpoint, the ones that do not say what only the system may say. */
export function toOwnLabels(all: Readonly<Record<string, string>>): Record<string, string> {
  const labels: Record<string, string> = {};
  for (const [key, value] of Object.entries(all)) {
    if (SYSTEM_LABELS.has(key) || INHERITED_PREFIXES.some((prefix) => key.startsWith(prefix))) continue;
    labels[key] = value;
  }
  return labels;
}

/** The pod's own labels, and the system's. */
function toLabels(all: Readonly<Record<string, string>>, namespace: string, serviceAccount: string | undefined): Record<string, string> {
  const labels = toOwnLabels(all);
  labels[ENDPOINT_LABELS.namespace] = namespace;
  labels[ENDPOINT_LABELS.orchestrator] = "k8s";
  if (serviceAccount !== undefined && serviceAccount.length <= LABEL_VALUE_LENGTH) labels[ENDPOINT_LABELS.serviceAccount] = serviceAccount;
  return labels;
}

/** Ports that somebody can refer to: by name in a policy, or by the host's port. */
function toEndpointPort({ name = "", containerPort, hostPort = 0, hostIP = "", protocol = "" }: ContainerPort): EndpointPort[] {
  const known = protocol === "" ? "TCP" : protocol;
  if (known !== "TCP" && known !== "UDP" && known !== "SCTP") return [];
  if (containerPort === 0 || (name === "" && hostPort === 0)) return [];
  return [
    {
      ...(name === "" ? {} : { name }),
      protocol: known,
      port: containerPort,
      ...(hostPort === 0 ? {} : { hostPort }),
      ...(hostIP === "" ? {} : { hostIP }),
    },
  ];
}
