/**
 * Workload endpoints as views of pods. What a pod does not say by itself is kept in three annotations, which we patch into its status:
 *
 * ```
 * cni.netplug.io/containerID    whose addresses they are
 * cni.netplug.io/podIP          10.65.0.7/32                    the first
 * cni.netplug.io/podIPs         10.65.0.7/32,fd00:65::7/128     all; "" after a DEL
 * ```
 *
 * An interface other than `eth0` has annotations of its own: `cni.netplug.io/podIPs.net1`.
 */

import { FIRST_INTERFACE, toHostSideName } from "../../../api/endpoint-names.ts";
import { BOUND_TO, toPodFields } from "../../../api/kubernetes-pod.ts";
import { ANNOTATION_PREFIX } from "../../../api/pod-annotations.ts";
import { ENDING_ADDRESSES, REPORTED_ADDRESSES } from "../../../api/reported-addresses.ts";
import { API_VERSION, type Resource } from "../../../api/resource.ts";
import type { WorkloadEndpoint, WorkloadEndpointSpec } from "../../../api/workload-endpoint.ts";
import type { Pod } from "../../../kube/core-types.ts";
import { type JsonPatchOperation, toPointerStep } from "../../../kube/patch.ts";
import { WIDTH } from "../../../lib/ip/address.ts";
import { tryParsePrefix } from "../../../lib/ip/prefix.ts";
import type { Revision, Stored } from "../../datastore.ts";
import { toMetadata } from "./custom-object.ts";
import { toPodEndpointName } from "./endpoint-name.ts";
import { toShownNATs, toShownSources } from "./annotation-fields.ts";

type OwnAnnotation = "containerID" | "podIP" | "podIPs";

/** What a revision of an endpoint contains: the pod, and our annotations in it. Other changes of the pod, as by the kubelet, are no conflict. */
export interface EndpointState {
  readonly uid: string;
  /** The annotation; undefined: there is none. */
  readonly containerID: string | undefined;
  /** The annotation. */
  readonly podIPs: string;
  /** Whether the pod has any annotations at all: without, a patch must first add the place for ours. */
  readonly isAnnotated: boolean;
}

/**
 * One endpoint of a pod; undefined for a pod that has no network of its own.
 *
 * @param node the name that the node gives itself, which may differ from its name in Kubernetes
 */
export function toEndpoint(pod: Pod, ifName: string, node: string): Stored<WorkloadEndpoint> | undefined {
  const { metadata, spec = {} } = pod;
  const { name = "", namespace = "", uid = "" } = metadata;
  if (spec.hostNetwork === true) return undefined;
  const annotation = (which: OwnAnnotation): string | undefined => metadata.annotations?.[annotationName(which, ifName)];
  const containerID = annotation("containerID");
  const podIPs = annotation("podIPs");
  const revision = toRevision({ uid, containerID, podIPs: podIPs ?? "", isAnnotated: metadata.annotations !== undefined });
  const fields = toPodFields(pod);
  const { annotations = {} } = metadata;
  const networks = toNetworks(pod, podIPs, ifName);
  const reported = toReported(pod, podIPs, networks, ifName);
  const nats = toShownNATs(annotations, networks);
  const sources = toShownSources(annotations);
  const { nodeName = "" } = spec;
  const boundTo = nodeName === "" || nodeName === node ? undefined : { [BOUND_TO]: nodeName };
  const value: WorkloadEndpoint = {
    apiVersion: API_VERSION,
    kind: "WorkloadEndpoint",
    metadata: {
      ...toMetadata(metadata),
      ...((reported ?? boundTo) !== undefined && { annotations: { ...annotations, ...reported, ...boundTo } }),
      name: toPodEndpointName({ node, pod: name, ifName }),
      labels: fields.labels,
      resourceVersion: revision,
    },
    spec: {
      orchestrator: "k8s",
      node,
      ...(containerID !== undefined && containerID !== "" && { containerID }),
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

/** All endpoints of a pod. A pod that is not scheduled yet has none, unless somebody gave it addresses. */
export function toEndpoints(pod: Pod): readonly Stored<WorkloadEndpoint>[] {
  const node = pod.spec?.nodeName ?? "";
  const begin = annotationName("containerID", "");
  const names: string[] = [];
  for (const key in pod.metadata.annotations) if (key.startsWith(begin)) names.push(key.slice(begin.length));
  if (node !== "" || pod.metadata.annotations?.[annotationName("containerID", FIRST_INTERFACE)] !== undefined) names.push(FIRST_INTERFACE);
  return names.flatMap((ifName) => toEndpoint(pod, ifName, node) ?? []);
}

/** What writing an endpoint leaves in its pod. */
export function toState(uid: string, { spec }: Resource): EndpointState {
  const { containerID = "", ipNetworks = [] } = spec as WorkloadEndpointSpec;
  return { uid, containerID, podIPs: ipNetworks.join(","), isAnnotated: true };
}

/**
 * The patch fails when the pod is another one, or its endpoint has changed since `before`: the request of a killed ADD may arrive after its
 * DEL, or after the ADD of the next container.
 */
export function toRecordingPatch(
  before: EndpointState,
  { containerID, podIPs }: EndpointState,
  ifName: string,
): readonly JsonPatchOperation[] {
  const [podIP = ""] = podIPs.split(",");
  const values: readonly (readonly [OwnAnnotation, string])[] = [
    ["containerID", containerID ?? ""],
    ["podIP", podIP],
    ["podIPs", podIPs],
  ];
  const isSamePod: JsonPatchOperation = { op: "test", path: "/metadata/uid", value: before.uid };
  if (!before.isAnnotated) {
    const annotations = Object.fromEntries(values.map(([which, value]) => [annotationName(which, ifName), value]));
    return [isSamePod, { op: "test", path: ANNOTATIONS, value: null }, { op: "add", path: ANNOTATIONS, value: annotations }];
  }
  return [isSamePod, isSameContainer(before, ifName), ...values.map(([which, value]) => toWrite(which, value, ifName))];
}

/** The patch fails when the pod is another one, or another container has it. The container ID stays: it says which container had the addresses. */
export function toClearingPatch(before: EndpointState, ifName: string): readonly JsonPatchOperation[] {
  return [
    { op: "test", path: "/metadata/uid", value: before.uid },
    isSameContainer(before, ifName),
    toWrite("podIP", "", ifName),
    toWrite("podIPs", "", ifName),
  ];
}

const ANNOTATIONS = "/metadata/annotations";

/** A JSON patch test: an absent annotation equals null. */
function isSameContainer({ containerID = null }: { readonly containerID?: string | null | undefined }, ifName: string): JsonPatchOperation {
  return { op: "test", path: toPath("containerID", ifName), value: containerID };
}

function toWrite(which: OwnAnnotation, value: string, ifName: string): JsonPatchOperation {
  return { op: "add", path: toPath(which, ifName), value };
}

function toPath(which: OwnAnnotation, ifName: string): string {
  return `${ANNOTATIONS}/${toPointerStep(annotationName(which, ifName))}`;
}

/** `uid/` and nothing, `~` where the pod has annotations of others, or `=` and the container ID; then `/` and the addresses. */
export function toRevision({ uid, containerID, podIPs, isAnnotated }: EndpointState): Revision {
  const owner = containerID === undefined ? (isAnnotated ? "~" : "") : `=${encodeURIComponent(containerID)}`;
  return `${uid}/${owner}/${podIPs}` as Revision;
}

/** Reads what {@link toRevision} wrote. */
export function fromRevision(revision: Revision): EndpointState {
  const [uid = "", owner = "", ...podIPs] = revision.split("/");
  const containerID = owner.startsWith("=") ? decodeURIComponent(owner.slice(1)) : undefined;
  return { uid, containerID, podIPs: podIPs.join("/"), isAnnotated: owner !== "" };
}

function annotationName(which: OwnAnnotation, ifName: string): string {
  return ANNOTATION_PREFIX + (ifName === FIRST_INTERFACE ? which : `${which}.${ifName}`);
}

/** Our annotation counts, without entries that are no addresses; where it is absent, the pod's status. An ended pod has no addresses. */
function toNetworks(pod: Pod, podIPs: string | undefined, ifName: string): readonly string[] {
  if (hasEnded(pod)) return [];
  if (podIPs !== undefined) return podIPs.split(",").filter(isAddress);
  if (ifName !== FIRST_INTERFACE) return [];
  return (pod.status?.podIPs ?? []).map(({ ip }) => toNetwork(ip));
}

function toNetwork(ip: string): string {
  return ip.includes(":") ? `${ip}/128` : `${ip}/32`;
}

/**
 * Addresses that a pod with a sandbox has, and that the record lacks: somebody may have cleared or changed the record. A pod without a sandbox, as
 * between the DEL and the next ADD, has none, although the kubelet goes on naming those that it had; for a pod that ends it may do so for some
 * seconds. The kubelet calls a pod ended after the DEL. So if an ended pod has its sandbox, somebody else called it ended, as when its node was
 * lost, and it may still run.
 */
function toReported(
  pod: Pod,
  podIPs: string | undefined,
  networks: readonly string[],
  ifName: string,
): Readonly<Record<string, string>> | undefined {
  const { conditions = [] } = pod.status ?? {};
  const hasSandbox = conditions.some(({ type, status }) => type === "PodReadyToStartContainers" && status === "True");
  if (!hasSandbox) return undefined;
  const ofKubelet = ifName === FIRST_INTERFACE ? (pod.status?.podIPs ?? []).map(({ ip }) => toNetwork(ip)) : [];
  const all = hasEnded(pod) ? [...(podIPs ?? "").split(",").filter(isAddress), ...ofKubelet] : ofKubelet;
  const others = [...new Set(all)].filter((network) => !networks.includes(network)).map((network) => network.replace(/\/.*/, ""));
  if (others.length === 0) return undefined;
  const mayHaveEnded = hasEnded(pod) || pod.metadata.deletionTimestamp !== undefined;
  return { [mayHaveEnded ? ENDING_ADDRESSES : REPORTED_ADDRESSES]: others.join(",") };
}

function hasEnded({ status: { phase } = {} }: Pod): boolean {
  return phase === "Succeeded" || phase === "Failed";
}

/** A user who may change pods may write anything there. */
function isAddress(text: string): boolean {
  const prefix = tryParsePrefix(text);
  return prefix !== undefined && prefix.length === WIDTH[prefix.family];
}
