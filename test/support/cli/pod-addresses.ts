/** Addresses of pods in the namespace `prod`, as ADDs leave them on a real API server. */

import { beforeEach } from "bun:test";
import { type KubernetesCliWorld, shareKubernetesCliWorld } from "./kubernetes-cli-world.ts";
import { allocateFor } from "./container-addresses.ts";
import { createNamespace, createNode, createPod } from "../servers/kubernetes.ts";

type World = Pick<KubernetesCliWorld, "api" | "datastore">;

/** As `shareKubernetesCliWorld()`: with the node `n1`, and before each test the pool 10.65.0.0/24 and no pod. */
export function shareWorldOfPods(): ReturnType<typeof shareKubernetesCliWorld> {
  const [test, world] = shareKubernetesCliWorld(async (made) => {
    await made.done(["init"]);
    await createNamespace(made.api, "prod");
    await createNode(made.api, "n1", []);
  });
  beforeEach(async () => {
    await world.api.kubectl(["delete", "pods", "--all", "-n", "prod", "--force", "--grace-period=0"]);
    await world.api.kubectl(["delete", "ippools,ipamblocks", "--all"]);
    await world.createPool("pods", "10.65.0.0/24");
  });
  return [test, world];
}

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

/** What the kubelet says of a pod. */
export async function reportStatus({ api }: World, pod: string, ip: string, others: object = {}): Promise<void> {
  const status = JSON.stringify({ status: { phase: "Running", podIP: ip, podIPs: [{ ip }], ...others } });
  await api.kubectl(["patch", "pod", pod, "-n", "prod", "--subresource=status", "--type=merge", "-p", status]);
}
