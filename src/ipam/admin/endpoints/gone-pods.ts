/**
 * Whether the pod is gone that has an address under another main plugin, such as `ptp`: no endpoint shows such an address. Where pods are the
 * endpoints' records, a pod exists before its ADD and until its sandbox is gone, unless it is deleted by force or has no grace period.
 */

import type { AllocationOwner } from "../../../api/ipam-block.ts";
import { recordedAddresses, type WorkloadEndpoint } from "../../../api/workload-endpoint.ts";

/** What is known of pods. */
export interface KnownPods {
  /** One endpoint of each pod that a node has taken, by {@link toPodKey}. */
  readonly byName: ReadonlyMap<string, WorkloadEndpoint>;
  readonly nodes: ReadonlySet<string>;
}

/** By their names, those of a namespace apart. */
export function knownPods(endpoints: readonly WorkloadEndpoint[], nodes: ReadonlySet<string>): KnownPods {
  const named = endpoints.map((endpoint): [string, WorkloadEndpoint] => [
    toPodKey(endpoint.metadata.namespace, endpoint.spec.pod),
    endpoint,
  ]);
  return { byName: new Map(named), nodes };
}

/** @returns why nobody has the owner's addresses any more; undefined: the pod is there, or nobody can tell */
export function describeGonePod(owner: AllocationOwner, { byName, nodes }: KnownPods): string | undefined {
  const { pod, namespace, podUID } = owner;
  if (pod === undefined || namespace === undefined || podUID === undefined) return undefined;
  const found = byName.get(toPodKey(namespace, pod));
  if (found === undefined) return isNamedAsMirror(owner, nodes) ? undefined : "that pod is gone";
  return found.metadata.uid === podUID || isMirror(found) ? undefined : "that pod is gone, and another one has its name";
}

function toPodKey(namespace = "", pod = ""): string {
  return `${namespace}/${pod}`;
}

/** A static pod runs on when its mirror is deleted, and its kubelet soon makes another one, with another UID. */
export function isMirror({ metadata: { annotations } }: Pick<WorkloadEndpoint, "metadata">): boolean {
  return annotations?.["kubernetes.io/config.mirror"] !== undefined;
}

/**
 * Whether a static pod may run of which the API server says nothing: it has no mirror, or one that was made anew and does not tell yet what the pod has.
 *
 * @param record what is there under the endpoint's name
 */
export function isPerhapsStatic(owner: AllocationOwner, record: WorkloadEndpoint | undefined, nodes: ReadonlySet<string>): boolean {
  return record === undefined ? isNamedAsMirror(owner, nodes) : isMirror(record) && recordedAddresses(record).length === 0;
}

/** A kubelet calls mirrors after its node: `NAME-NODE`. A node may call itself otherwise than Kubernetes does. */
function isNamedAsMirror({ pod = "", node }: AllocationOwner, nodes: ReadonlySet<string>): boolean {
  if (nodes.has(node)) return pod.endsWith(`-${node}`);
  for (let dash = pod.indexOf("-"); dash !== -1; dash = pod.indexOf("-", dash + 1)) if (nodes.has(pod.slice(dash + 1))) return true;
  return false;
}
