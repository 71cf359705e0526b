/** What an ADD asks the Kubernetes API: when, and what comes back. */

import type { WorkloadEndpoint } from "../../api/workload-endpoint.ts";
import type { PodRequest } from "../../endpoint/annotations/read-pod-request.ts";
import type { PodIdentity } from "../../endpoint/names.ts";
import type { CompleteRecord } from "../../endpoint/plan-attachment.ts";
import type { JsonObject } from "../../lib/json.ts";
import { type Call, isMain } from "../call.ts";

/** What the API server tells of the pod of a call. */
export interface PodFacts {
  /** UID of the object in the API server; for a mirror pod it differs from the runtime's. */
  readonly uid: string;
  readonly namespaceLabels: Readonly<Record<string, string>>;
  /** The pod's own. */
  readonly podLabels: Readonly<Record<string, string>>;
  /** What annotations ask for, completed by the network config. */
  readonly request: PodRequest;
  readonly completeRecord: CompleteRecord;
}

/** What an ADD must know besides what the datastore tells. */
export interface KubernetesFacts {
  /**
   * The pod of the call; undefined where it is not read.
   *
   * @param endpoint the datastore's record: on Kubernetes that is the pod itself, which is then not read twice
   * @throws NetplugError podMismatch, malformedRequest, featureDisabled
   */
  readonly toPodFacts: (endpoint: WorkloadEndpoint | undefined) => PodFacts | undefined | Promise<PodFacts | undefined>;
  /** The network config for the delegate, with the node's pod CIDRs in place of their keywords; undefined: unchanged. */
  readonly delegateConfig: JsonObject | undefined;
}

/** Whether pods are looked up, and their annotations honoured. */
export function arePodsLookedUp({ config, datastore }: Call): boolean {
  return config.policyType === "k8s" || datastore.traits.recordsArePods;
}

/** A call about a pod. */
export type CallOfPod = Call & { readonly args: { readonly pod: PodIdentity } };

/** Whether the pod of this call is looked up, if it has one. */
export function isPodLookedUp(call: Call): call is CallOfPod {
  return call.args.pod !== undefined && arePodsLookedUp(call);
}

/** Whether the node is looked up, for `host-local`. */
export function isNodeLookedUp({ plugin, config }: Call): boolean {
  return isMain(plugin) && mayUsePodCidr(config.ipam.type, config.raw);
}

/** Whether a delegate's config may use a pod-CIDR keyword as a subnet. A quick search of the text; resolving finds the ranges. */
export function mayUsePodCidr(type: string | undefined, { ipam }: JsonObject): boolean {
  return type === "host-local" && /"subnet":"usePodCidr(IPv6)?"/i.test(JSON.stringify(ipam ?? null));
}

/** What was asked for, and is on its way: in an object, because a promise would be awaited with the function that returns it. */
export interface Asked<T = KubernetesFacts> {
  readonly facts: Promise<T>;
}
