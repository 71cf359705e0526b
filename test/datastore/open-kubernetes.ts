/** For tests: the Kubernetes driver on a real API server with our CRDs. */

import type { Datastore } from "../../src/datastore/datastore.ts";
import type { KubernetesConfig } from "../../src/datastore/config/datastore-config.ts";
import type { KubernetesPorts } from "../../src/datastore/kubernetes/open.ts";
import { openDatastore } from "../../src/datastore/open.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { systemRandom } from "../../src/lib/random.ts";
import { linuxFiles } from "../../src/linux/files.ts";
import { takeLock } from "../../src/linux/flock.ts";
import { linuxProcesses } from "../../src/linux/processes.ts";
import type { ApiServer } from "../support/servers/api-server.ts";

const COLLECTIONS = [
  ...["ippools", "ipreservations", "ipamconfigurations", "clusterinformations", "profiles", "tiers", "ipamblocks"].map(
    (plural) => `/apis/netplug.io/v3/${plural}`,
  ),
  "/api/v1/nodes",
];

export const realPorts: KubernetesPorts = {
  clock: systemClock,
  random: systemRandom,
  files: linuxFiles,
  processes: linuxProcesses,
  env: {},
  takeLock: (path, waitMs) => takeLock(path, { waitMs, clock: systemClock }),
};

/** As the administrator, without a limit of requests, unless the config says otherwise. */
export function openKubernetes(server: ApiServer, config: KubernetesConfig = {}, ports: Partial<KubernetesPorts> = {}): Datastore {
  const all = { ...realPorts, ...ports };
  const kubernetes = { kubeconfig: server.kubeconfigFile, qps: 0, ...config };
  return openDatastore({ type: "kubernetes", kubernetes }, { ...all, kubernetes: all });
}

/** Deletes everything that is ours, all nodes, and all pods of the namespaces given. */
export async function wipe(server: ApiServer, namespaces: readonly string[] = ["default"]): Promise<void> {
  const pods = namespaces.map((namespace) => `/api/v1/namespaces/${namespace}/pods?gracePeriodSeconds=0`);
  await Promise.all([...COLLECTIONS, ...pods].map((path) => server.mustRequest("DELETE", path)));
}
