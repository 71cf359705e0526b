/** Addresses of pods in the namespace `prod`, as ADDs leave them on a real API server. */

import type { KubernetesCliWorld } from "./kubernetes-cli-world.ts";
import { allocateFor } from "./container-addresses.ts";
import { createPod } from "../servers/kubernetes.ts";

type World = Pick<KubernetesCliWorld, "api" | "datastore">;

export type Given = [pod: string, node: string, ip: string, containerID?: string, agoMs?: number];

/** Gives a pod an address as an ADD does, without the annotations. */
export async function giveAddress(world: World, ...[pod, node, ip, containerID = `c-${pod}`, agoMs = 0]: Given): Promise<string> {
  const [ofNode, ofPod] = [node, pod].map((name) => name.replaceAll("-", "--"));
  const owner = { endpoint: `${ofNode}-k8s-${ofPod}-eth0`, pod, namespace: "prod" };
  return await allocateFor(world.datastore, containerID, node, { address: ip, owner, agoMs });
}

/** A pod on a node, with the annotations that an ADD leaves. */
export async function runWithRecord({ api }: World, pod: string, node: string, ip: string): Promise<void> {
  const annotations = { containerID: `c-${pod}`, podIP: `${ip}/32`, podIPs: `${ip}/32` };
  await createPod(api, { name: pod, namespace: "prod", spec: { nodeName: node }, annotations });
}
