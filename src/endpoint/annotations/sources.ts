/** Where the value of an annotation comes from, and how messages name it. */

import { ANNOTATION_PREFIX } from "../../api/pod-annotations.ts";
import { NetplugError } from "../../lib/errors.ts";
import { quote } from "../../lib/quote.ts";

/** Annotations that users set; those that the system writes on a pod's status are not among them. */
export type RequestAnnotation =
  | "ipv4pools"
  | "ipv6pools"
  | "ipFamilies"
  | "ipAddrs"
  | "ipAddrsByPod"
  | "ipAddrsNoIpam"
  | "floatingIPs"
  | "hwAddr"
  | "allowedSourcePrefixes";

/** What is read of a pod. */
export interface AnnotatedPod {
  readonly namespace: string;
  readonly name: string;
  readonly annotations: Readonly<Record<string, string>>;
}

/** One annotation with a value. */
export interface AnnotationSource {
  readonly annotation: RequestAnnotation;
  readonly value: string;
  /** What has it, for messages: `pod "default/web-0"`. */
  readonly object: string;
}

/** An annotation that counts on the pod only; an empty text counts as absent. */
export function onPod(pod: AnnotatedPod, annotation: RequestAnnotation): AnnotationSource | undefined {
  const value = pod.annotations[ANNOTATION_PREFIX + annotation];
  return value === undefined || value === "" ? undefined : { annotation, value, object: toPodText(pod) };
}

/** The same annotation of the pod's namespace. */
export function onNamespace(
  pod: AnnotatedPod,
  namespaceAnnotations: Readonly<Record<string, string>>,
  annotation: RequestAnnotation,
): AnnotationSource | undefined {
  const value = namespaceAnnotations[ANNOTATION_PREFIX + annotation];
  return value === undefined || value === "" ? undefined : { annotation, value, object: toNamespaceText(pod) };
}

/** How messages name a pod. */
export function toPodText(pod: Pick<AnnotatedPod, "namespace" | "name">): string {
  return `pod ${quote(`${pod.namespace}/${pod.name}`)}`;
}

/** How messages name the pod's namespace. */
export function toNamespaceText(pod: Pick<AnnotatedPod, "namespace" | "name">): string {
  return `namespace ${quote(pod.namespace)} for ${toPodText(pod)}`;
}

/** E.g. `annotation "cni.netplug.io/ipAddrs" of pod "default/web-0"`. */
export function toSourceText({ annotation, object }: Pick<AnnotationSource, "annotation" | "object">): string {
  return `annotation "${ANNOTATION_PREFIX}${annotation}" of ${object}`;
}

/** A value that cannot be used. @param why what exactly is wrong with it, where `wanted` leaves that open */
export function malformed(source: AnnotationSource, wanted: string, why?: string): NetplugError {
  const reason = why === undefined ? "" : `: ${why}`;
  return new NetplugError("malformedRequest", `read ${toSourceText(source)}: got ${quote(source.value)}, want ${wanted}${reason}`);
}
