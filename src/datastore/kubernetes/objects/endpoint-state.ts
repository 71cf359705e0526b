/**
 * What a pod keeps of an endpoint, and how that is changed. What it does not say by itself is in three annotations, which we patch into its status:
 *
 * ```
 * cni.netplug.io/containerID    whose addresses they are
 * cni.netplug.io/podIP          10.65.0.7/32                    the first
 * cni.netplug.io/podIPs         10.65.0.7/32,fd00:65::7/128     all; "" after a DEL
 * ```
 *
 * An interface other than `eth0` has annotations of its own: `cni.netplug.io/podIPs.net1`.
 */

import { FIRST_INTERFACE } from "../../../api/endpoint-names.ts";
import { ANNOTATION_PREFIX } from "../../../api/pod-annotations.ts";
import type { Resource } from "../../../api/resource.ts";
import type { WorkloadEndpointSpec } from "../../../api/workload-endpoint.ts";
import type { Pod } from "../../../kube/core-types.ts";
import { type JsonPatchOperation, toPointerStep } from "../../../kube/patch.ts";
import type { Revision } from "../../datastore.ts";

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

/** The endpoint of one interface as its pod has it; undefined for a pod that has no network of its own. */
export function stateOf(pod: Pod, ifName: string): EndpointState | undefined {
  const { metadata, spec = {} } = pod;
  if (spec.hostNetwork === true) return undefined;
  const { uid = "", annotations } = metadata;
  const containerID = readOwn(pod, "containerID", ifName);
  return { uid, containerID, podIPs: readOwn(pod, "podIPs", ifName) ?? "", isAnnotated: annotations !== undefined };
}

/** One of our annotations; undefined where it is absent. */
export function readOwn({ metadata }: Pod, which: OwnAnnotation, ifName: string): string | undefined {
  return metadata.annotations?.[annotationName(which, ifName)];
}

/**
 * The interfaces that a pod has endpoints of. One that is not scheduled yet has none, unless somebody gave it addresses. Nobody reads
 * `containerID.eth0`: the annotations of `eth0` have no ending.
 */
export function interfacesOf(pod: Pod): readonly string[] {
  const begin = annotationName("containerID", "");
  const names: string[] = [];
  for (const key in pod.metadata.annotations) {
    if (key.startsWith(begin) && key !== begin + FIRST_INTERFACE) names.push(key.slice(begin.length));
  }
  const isScheduled = (pod.spec?.nodeName ?? "") !== "";
  if (isScheduled || readOwn(pod, "containerID", FIRST_INTERFACE) !== undefined) names.push(FIRST_INTERFACE);
  return names;
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
