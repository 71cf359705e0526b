/** Annotations that look like ours and do nothing. */

import { ANNOTATION_PREFIX } from "../../api/pod-annotations.ts";
import { nearestName } from "../../lib/nearest.ts";
import { quote } from "../../lib/quote.ts";
import { type AnnotatedPod, type RequestAnnotation, toNamespaceText, toPodText } from "./sources.ts";

/** Our annotations; true: it counts on a namespace too. */
const KNOWN: Readonly<Record<RequestAnnotation, boolean>> = {
  ipv4pools: true,
  ipv6pools: true,
  ipFamilies: true,
  ipAddrs: false,
  ipAddrsByPod: false,
  ipAddrsNoIpam: false,
  floatingIPs: false,
  hwAddr: false,
  allowedSourcePrefixes: false,
};

/** Annotations that we write on a pod's status; for interfaces other than `eth0` a dot and the interface's name follow. */
const RECORDED = /^(podIPs?|containerID)(\.|$)/;

/** What begins as another network plugin's annotation, or as ours by mistake; we warn if the rest is a name of ours: `cni.example.org/ipAddrs`. */
const FOREIGN = /^(cni\.[a-z0-9.-]+\/|netplug\.io\/)?([^/]+)$/;

/** A warning for each such annotation: nobody would otherwise notice a misspelt one, or one for the cluster's former network plugin. */
export function warnOfIneffective(pod: AnnotatedPod, namespaceAnnotations: Readonly<Record<string, string>>): readonly string[] {
  const onThePod = namesIn(pod.annotations).flatMap((name) => (Object.hasOwn(KNOWN, name) ? [] : [unknown(name, toPodText(pod))]));
  const onItsNamespace = namesIn(namespaceAnnotations).flatMap((name) => {
    const object = toNamespaceText(pod);
    if (!Object.hasOwn(KNOWN, name)) return [unknown(name, object)];
    return KNOWN[name as RequestAnnotation] ? [] : [`annotation ${full(name)} of ${object} has no effect: it counts on pods only`];
  });
  return [
    ...onThePod,
    ...onItsNamespace,
    ...foreignIn(pod.annotations, toPodText(pod)),
    ...foreignIn(namespaceAnnotations, toNamespaceText(pod)),
  ];
}

function foreignIn(annotations: Readonly<Record<string, string>>, object: string): readonly string[] {
  return Object.keys(annotations).flatMap((key) => {
    const [, prefix = "", name = ""] = key.startsWith(ANNOTATION_PREFIX) ? [] : (FOREIGN.exec(key) ?? []);
    if (!Object.hasOwn(KNOWN, name)) return [];
    const what = prefix.startsWith("cni.") ? "another plugin's" : "unknown";
    return [`annotation ${quote(key)} of ${object} is ${what} and has no effect: was ${full(name)} meant?`];
  });
}

function namesIn(annotations: Readonly<Record<string, string>>): readonly string[] {
  return Object.keys(annotations)
    .filter((key) => key.startsWith(ANNOTATION_PREFIX))
    .map((key) => key.slice(ANNOTATION_PREFIX.length))
    .filter((name) => !RECORDED.test(name));
}

function unknown(name: string, object: string): string {
  const meant = nearestName(name, Object.keys(KNOWN));
  return `annotation ${full(name)} of ${object} is unknown and has no effect${meant === undefined ? "" : `: was ${full(meant)} meant?`}`;
}

function full(name: string): string {
  return quote(ANNOTATION_PREFIX + name);
}
