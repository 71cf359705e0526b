/** Pods as tests of a cluster make them and look at them. */

import type { Cluster } from "./cluster.ts";
import { BUSYBOX_IMAGE } from "./node-config.ts";

export interface PodSpec {
  readonly name: string;
  /** @default "default" */
  readonly namespace?: string;
  /** @default the scheduler's choice */
  readonly node?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** How long it may take to end. @default 2 */
  readonly graceSeconds?: number;
}

/** A pod that waits. */
export function podManifest({ name, namespace = "default", node, labels, annotations, graceSeconds = 2 }: PodSpec): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace, labels, annotations },
    spec: { nodeName: node, terminationGracePeriodSeconds: graceSeconds, containers: [{ name: "main", image: BUSYBOX_IMAGE }] },
  };
}

/** Several, as `kubectl` reads them. */
export function podsManifest(pods: readonly PodSpec[]): string {
  return JSON.stringify({ apiVersion: "v1", kind: "List", items: pods.map(podManifest) });
}

/** A pod that has a node and addresses. */
export interface RunningPod {
  readonly name: string;
  readonly node: string;
  /** Of the first family, and of all. */
  readonly address: string;
  readonly addresses: readonly string[];
  readonly restarts: number;
}

interface PodObject {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly nodeName: string };
  readonly status: {
    readonly podIP: string;
    readonly podIPs: readonly { readonly ip: string }[];
    readonly containerStatuses: readonly { readonly restartCount: number }[];
  };
}

/** Makes pods of one namespace that wait, until they are Ready. */
export async function runPods(cluster: Cluster, requests: readonly PodSpec[]): Promise<readonly RunningPod[]> {
  const namespace = requests[0]?.namespace ?? "default";
  await cluster.kubectl(["--namespace", namespace, "wait", "--for=create", "serviceaccount/default", "--timeout=180s"]);
  await cluster.kubectl(["create", "-f", "-"], podsManifest(requests.map((request) => ({ ...request, namespace }))));
  const names = requests.map(({ name }) => name);
  await cluster.untilReady(names, namespace);
  const all = await listPods(cluster, [], namespace);
  return names.flatMap((name) => all.filter((pod) => pod.name === name));
}

/** @param selection arguments for `kubectl get pods`, such as `-l app=web` */
export async function listPods(cluster: Cluster, selection: readonly string[], namespace = "default"): Promise<readonly RunningPod[]> {
  const text = await cluster.kubectl(["--namespace", namespace, "get", "pods", ...selection, "-o", "json"]);
  return (JSON.parse(text) as { readonly items: readonly PodObject[] }).items.map(({ metadata, spec, status }) => ({
    name: metadata.name,
    node: spec.nodeName,
    address: status.podIP,
    addresses: status.podIPs.map(({ ip }) => ip),
    restarts: status.containerStatuses.reduce((sum, { restartCount }) => sum + restartCount, 0),
  }));
}

/** Sends one packet from a pod to each address. @throws Error when one is not answered within 3 s */
export async function pingFrom(cluster: Cluster, pod: string, addresses: readonly string[]): Promise<void> {
  await cluster.kubectl(["exec", pod, "--", "sh", "-c", pingScript(addresses)]);
}

/** For a pod's shell: fails unless every address answers. */
export function pingScript(addresses: readonly string[]): string {
  return addresses.map((address) => `ping -c 1 -W 3 ${address}`).join(" && ");
}
