/** The pod of a call and its namespace: compared with what the runtime says, and what both ask for. */

import { BOUND_TO, type PodFields, toOwnLabels, toPodFields } from "../../api/kubernetes-pod.ts";
import { ANNOTATION_PREFIX } from "../../api/pod-annotations.ts";
import type { WorkloadEndpoint } from "../../api/workload-endpoint.ts";
import { warnOfIneffective } from "../../endpoint/annotations/ineffective.ts";
import { type PodRequest, readPodRequest } from "../../endpoint/annotations/read-pod-request.ts";
import { toPodText } from "../../endpoint/annotations/sources.ts";
import { requireSamePod } from "../../endpoint/same-pod.ts";
import type { PodIdentity } from "../../endpoint/names.ts";
import { toPodEndpoint } from "../../endpoint/pod-endpoint.ts";
import type { KubeClient } from "../../kube/client.ts";
import { NAMESPACES, type Pod, PODS } from "../../kube/core-types.ts";
import type { KubeObject } from "../../kube/kube-object.ts";
import { NetplugError } from "../../lib/errors.ts";
import { quote } from "../../lib/quote.ts";
import { type Call, hasOwnIpam, isMain } from "../call.ts";
import type { PodFacts } from "./facts.ts";

/** The parts of a pod that we use. */
export interface PodView extends Pick<Pod, "metadata"> {
  readonly fields: PodFields;
  /** The node to which Kubernetes has bound it; undefined or empty: none yet. It may be undefined where it has our node's name. */
  readonly boundTo: string | undefined;
  /** Whether the workload endpoint is a view of this pod: its record then has the pod's UID. */
  readonly isEndpoint: boolean;
}

/** @returns undefined when there is none @throws NetplugError podMismatch when it has no network of its own */
export async function readPod(client: KubeClient, identity: PodIdentity, signal: AbortSignal): Promise<PodView | undefined> {
  const { namespace, name } = identity;
  const pod = await client.get(PODS, { namespace, name }, { signal });
  // The runtime should not have called for it.
  if (pod?.spec?.hostNetwork === true)
    throw notThere(identity, "it uses the host's network (hostNetwork: true), so no interface is made for it");
  if (pod === undefined) return undefined;
  return { metadata: pod.metadata, fields: toPodFields(pod), boundTo: pod.spec?.nodeName, isEndpoint: false };
}

/** @returns undefined when there is none */
export async function readNamespace(client: KubeClient, { namespace }: PodIdentity, signal: AbortSignal): Promise<KubeObject | undefined> {
  return await client.get(NAMESPACES, { name: namespace }, { signal });
}

/** The pod that an endpoint of the Kubernetes datastore is a view of. */
export function toPodView(endpoint: WorkloadEndpoint, { namespace, name }: PodIdentity): PodView {
  const { uid = "", annotations = {}, labels = {}, generateName } = endpoint.metadata;
  const { serviceAccountName, profiles = [], ports = [] } = endpoint.spec;
  return {
    metadata: { namespace, name, uid, annotations },
    fields: { labels, generateName, serviceAccountName, profiles, ports },
    boundTo: annotations[BOUND_TO],
    isEndpoint: true,
  };
}

/**
 * What an ADD takes from pod and namespace. A pod that does not exist, or has another UID, is an error: the runtime will give up too.
 *
 * @throws NetplugError podMismatch, malformedRequest, featureDisabled
 */
export function toPodFacts(call: Call, identity: PodIdentity, pod: PodView | undefined, namespace: KubeObject | undefined): PodFacts {
  if (pod === undefined && namespace !== undefined) throw notThere(identity, "the API server has no such pod; it was deleted");
  if (pod !== undefined) requireSamePod(pod, identity);
  // A static pod (a file on the node) has a mirror only if its namespace exists; without that, nothing else says why it does not start.
  if (pod === undefined || namespace === undefined)
    throw notThere(identity, "the API server has no such namespace; it was deleted, or a static pod waits for it to be created");
  const { config } = call;
  const { metadata, fields, isEndpoint } = pod;
  const { uid = "", annotations = {} } = metadata;
  const { labels = {}, annotations: namespaceAnnotations = {} } = namespace.metadata;
  const annotated = { ...identity, annotations };
  for (const warning of warnOfIneffective(annotated, namespaceAnnotations)) call.log.warning(warning);
  const request = readPodRequest(annotated, namespaceAnnotations, {
    ipam: { type: config.ipam.type, isOwn: hasOwnIpam(call) },
    families: config.ipam.families,
    pools: config.ipam.pools,
    featureControl: config.featureControl,
  });
  if (!isMain(call.plugin)) checkForIpamOnly(call, identity, request);
  const completeRecord = (plain: WorkloadEndpoint): WorkloadEndpoint => {
    const record = toPodEndpoint(plain, fields, request);
    return isEndpoint ? { ...record, metadata: { ...record.metadata, uid } } : record;
  };
  return { uid, namespaceLabels: labels, podLabels: toOwnLabels(fields.labels), request, completeRecord };
}

/**
 * Checks the annotations under another main plugin: those that need the pod's interface or endpoint are refused, or have no effect.
 *
 * @throws NetplugError featureDisabled
 */
function checkForIpamOnly({ config, log }: Call, identity: PodIdentity, request: PodRequest): void {
  const { addressesWithoutIpam, mac, floatingIPs, allowedSourcePrefixes } = request;
  const main = `the main plugin is ${quote(config.type ?? "")}`;
  if (addressesWithoutIpam.length > 0) {
    throw new NetplugError(
      "featureDisabled",
      `use annotation "${ANNOTATION_PREFIX}ipAddrsNoIpam" of ${toPodText(identity)}: ${main}, want "netplug"; remove the annotation`,
    );
  }
  const unused = {
    hwAddr: mac !== undefined,
    floatingIPs: floatingIPs.length > 0,
    allowedSourcePrefixes: allowedSourcePrefixes.length > 0,
  };
  for (const [annotation, isSet] of Object.entries(unused)) {
    if (isSet) log.warning(`annotation "${ANNOTATION_PREFIX}${annotation}" of ${toPodText(identity)} has no effect: ${main}`);
  }
}

function notThere(identity: PodIdentity, reason: string): NetplugError {
  return new NetplugError("podMismatch", `find ${toPodText(identity)}: ${reason}`);
}
