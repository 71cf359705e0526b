/** The door to the Kubernetes API: who must ask it, and what comes back. Behind it everything is loaded on the first use. */

import type { WorkloadEndpoint } from "../api/workload-endpoint.ts";
import type { Datastore } from "../datastore/datastore.ts";
import type { PodRequest } from "../endpoint/annotations/read-pod-request.ts";
import type { PodPart } from "../endpoint/plan-attachment.ts";
import type { KubeClient } from "../kube/client.ts";
import type { Call } from "./call.ts";
import { resolveKubeSettings } from "./config/datastore-environment.ts";
import { mayUsePodCidr } from "./delegate/config.ts";
import type { Host } from "./host.ts";
import type { NetworkConfig } from "./network-config.ts";

/** What the API server tells of the pod of a call. */
export interface PodFacts {
  /** Of the object in the API server; that of a mirror pod is not the runtime's. */
  readonly uid: string;
  readonly namespaceLabels: Readonly<Record<string, string>>;
  /** What annotations ask for, completed by the network config. */
  readonly wishes: PodRequest;
  readonly part: PodPart;
}

/** What an ADD must know besides what the datastore tells. */
export interface KubernetesFacts {
  /**
   * The pod of the call; undefined where it is not asked for.
   *
   * @param endpoint what the datastore has of it: on Kubernetes that is the pod itself, which is not asked for twice
   * @throws NetplugError podMismatch, malformedRequest, featureDisabled
   */
  readonly toPodFacts: (endpoint: WorkloadEndpoint | undefined) => PodFacts | undefined;
  /** The network config for the delegate, with the node's pod CIDRs where it wants them; undefined: as it came. */
  readonly delegateConfig: Readonly<Record<string, unknown>> | undefined;
}

/** Roles of `manifests/`, for messages. */
const ROLES = { etcdv3: "netplug-cni-readonly", kubernetes: "netplug-cni", memory: undefined } as const;

/** What gives a call its one client. */
export function kubeOpenerOf(config: NetworkConfig, host: Host, datastore: Datastore["type"]): () => Promise<KubeClient> {
  let opening: Promise<KubeClient> | undefined;
  const { qps, burst } = config;
  const options = { qps, burst, protocol: "http2", role: ROLES[datastore] } as const;
  return () => (opening ??= host.openKube(resolveKubeSettings(config, host.env), options));
}

/** Whether pods are looked up, and their annotations honoured. */
export function arePodsAsked({ config, datastore }: Call): boolean {
  return config.policyType === "k8s" || datastore.type === "kubernetes";
}

/** The same of the pod of this call, if it has one. */
export function isPodAsked(call: Call): boolean {
  return call.args.pod !== undefined && arePodsAsked(call);
}

/** Whether the node is looked up, for `host-local`. */
export function isNodeAsked({ plugin, config }: Call): boolean {
  return plugin === "netplug" && mayUsePodCidr(config.ipam.type, config.raw);
}

/** What was asked for, and is on its way. */
export interface Asked {
  readonly facts: Promise<KubernetesFacts>;
}

/**
 * Asks for all that an ADD must know; resolves when the requests are on their way, so that the caller can use the time.
 *
 * @returns undefined when there is nothing to ask for
 * @throws NetplugError invalidConfig, accessDenied when it cannot be asked at all
 */
export async function askKubernetes(call: Call): Promise<Asked | undefined> {
  if (!isPodAsked(call) && !isNodeAsked(call)) return undefined;
  const span = call.ledger.phase("kubernetes");
  try {
    const { askForFacts } = await import("./pod/mod.ts");
    const { facts } = await askForFacts(call);
    facts
      .finally(() => span[Symbol.dispose]())
      .catch(() => {
        // Reported by whoever waits for it, unless something else fails first.
      });
    return { facts };
  } catch (thrown) {
    span[Symbol.dispose]();
    throw thrown;
  }
}
