/** What controllers make pods from. */

import type { Cluster } from "./cluster.ts";
import { BUSYBOX_IMAGE } from "./node-config.ts";

/** What the container of a pod has besides its image. */
export interface PodContents {
  /** @default it waits */
  readonly command?: readonly string[];
  /** "OnFailure" for a Job. @default "Always" */
  readonly restartPolicy?: "Always" | "OnFailure";
  readonly volumes?: readonly object[];
  readonly volumeMounts?: readonly object[];
}

/** A pod template whose pods are spread over the nodes. */
export function podTemplate(app: string, { restartPolicy = "Always", volumes = [], ...container }: PodContents = {}): object {
  return {
    metadata: { labels: { app } },
    spec: {
      terminationGracePeriodSeconds: 2,
      restartPolicy,
      topologySpreadConstraints: [
        { maxSkew: 1, topologyKey: "kubernetes.io/hostname", whenUnsatisfiable: "DoNotSchedule", labelSelector: { matchLabels: { app } } },
      ],
      volumes,
      containers: [{ name: "main", image: BUSYBOX_IMAGE, ...container }],
    },
  };
}

/** Creates it in the namespace `default`. */
export async function createWorkload(
  cluster: Cluster,
  kind: "Deployment" | "StatefulSet" | "Job",
  name: string,
  spec: object,
): Promise<void> {
  const apiVersion = kind === "Job" ? "batch/v1" : "apps/v1";
  await cluster.kubectl(["create", "-f", "-"], JSON.stringify({ apiVersion, kind, metadata: { name }, spec }));
}

/** Creates a Deployment, or a StatefulSet that makes all of its pods at once, whose pods wait. */
export async function createReplicas(cluster: Cluster, kind: "Deployment" | "StatefulSet", app: string, replicas: number): Promise<void> {
  const identity = kind === "StatefulSet" ? { serviceName: app, podManagementPolicy: "Parallel" } : {};
  await createWorkload(cluster, kind, app, { ...identity, replicas, selector: { matchLabels: { app } }, template: podTemplate(app) });
}
