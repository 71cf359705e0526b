/** The pod of a call and its namespace: read at the same time, compared with what the runtime says, and what both ask for. */

import type { WorkloadEndpoint } from "../../api/workload-endpoint.ts";
import { type PodRequest, readPodRequest } from "../../endpoint/annotations/read-pod-request.ts";
import { ANNOTATION_PREFIX } from "../../endpoint/annotations/sources.ts";
import { type KubernetesPod, requireSamePod, toPodFields } from "../../endpoint/kubernetes-pod.ts";
import type { PodIdentity } from "../../endpoint/names.ts";
import { toPodEndpoint } from "../../endpoint/pod-endpoint.ts";
import type { KubeClient } from "../../kube/client.ts";
import { NAMESPACES } from "../../kube/core-types.ts";
import type { KubeObject } from "../../kube/kube-object.ts";
import type { ResourceType } from "../../kube/resource-type.ts";
import { NetplugError } from "../../lib/errors.ts";
import { quote } from "../../lib/quote.ts";
import { type Call, hasOwnIpam } from "../call.ts";
import type { PodFacts } from "../kubernetes.ts";

/** Pods, with the fields that policy goes by. */
export const POLICY_PODS: ResourceType<KubernetesPod> = { group: "", version: "v1", plural: "pods", kind: "Pod", isNamespaced: true };

/**
 * Reads what the API server tells of the pod. One that is not there, or is another one, is an error: the runtime will give up too.
 *
 * @throws NetplugError podMismatch, malformedRequest, featureDisabled; accessDenied, tryAgainLater
 */
export async function readPod(call: Call, identity: PodIdentity, client: KubeClient, signal: AbortSignal): Promise<PodFacts> {
  const { namespace, name } = identity;
  const [pod, around] = await Promise.all([
    client.get(POLICY_PODS, { namespace, name }, { signal }),
    client.get(NAMESPACES, { name: namespace }, { signal }),
  ]);
  if (pod === undefined) throw notThere(identity, "the API server has no such pod; it was deleted");
  requireSamePod(pod, identity);
  if (around === undefined) throw notThere(identity, "the API server has no such namespace; it was deleted");
  return toPodFacts(call, pod, around);
}

function toPodFacts(call: Call, pod: KubernetesPod, { metadata: namespace }: KubeObject): PodFacts {
  const { config } = call;
  const { metadata } = pod;
  const fields = toPodFields(pod);
  const wishes = readPodRequest({ ...metadata, annotations: metadata.annotations ?? {} }, namespace.annotations ?? {}, {
    ipam: { type: config.ipam.type, isOwn: hasOwnIpam(call) },
    families: config.ipam.families,
    pools: config.ipam.pools,
    featureControl: config.featureControl,
  });
  if (call.plugin === "netplug-ipam") checkForIpamOnly(call, wishes);
  const part = { completeRecord: (plain: WorkloadEndpoint) => toPodEndpoint(plain, fields, wishes) };
  return { uid: metadata.uid, namespaceLabels: namespace.labels ?? {}, wishes, part };
}

/**
 * What needs the pod's interface or its endpoint is not ours to do under another main plugin.
 *
 * @throws NetplugError featureDisabled
 */
function checkForIpamOnly(
  { config, args, log }: Call,
  { addressesWithoutIpam, mac, floatingIPs, allowedSourcePrefixes }: PodRequest,
): void {
  const whose = `pod ${quote(`${args.pod?.namespace}/${args.pod?.name}`)}`;
  if (addressesWithoutIpam.length > 0) {
    throw new NetplugError(
      "featureDisabled",
      `use annotation "${ANNOTATION_PREFIX}ipAddrsNoIpam" of ${whose}: the main plugin is ${quote(config.type ?? "")}, want "netplug"; remove the annotation`,
    );
  }
  const withoutEffect = {
    hwAddr: mac !== undefined,
    floatingIPs: floatingIPs.length > 0,
    allowedSourcePrefixes: allowedSourcePrefixes.length > 0,
  };
  for (const [annotation, isSet] of Object.entries(withoutEffect)) {
    if (isSet)
      log.warning(
        `annotation "${ANNOTATION_PREFIX}${annotation}" of ${whose} has no effect: the main plugin is ${quote(config.type ?? "")}`,
      );
  }
}

function notThere({ namespace, name }: PodIdentity, reason: string): NetplugError {
  return new NetplugError("podMismatch", `find pod ${quote(`${namespace}/${name}`)}: ${reason}`);
}
