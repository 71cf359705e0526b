/** The datastore of netplug in a cluster: where `netplugctl` finds it, and what it holds before nodes use it. */

import { initialise } from "../../support/cli/netplugctl.ts";
import { applyRoles } from "../../support/servers/rights.ts";
import type { ClusterFacts } from "./cluster.ts";

/** Gives an etcd our pools. */
export async function prepareEtcd(cluster: ClusterFacts, pools: readonly string[]): Promise<void> {
  await initialise(etcdAccess(cluster), pools);
}

/** The same, and an API server the roles that go with it. */
export async function prepareEtcdAndRoles(cluster: ClusterFacts, pools: readonly string[]): Promise<void> {
  await cluster.api.kubectl(["wait", "--for=create", "namespace/kube-system", "--timeout=180s"]);
  await applyRoles(cluster.api, "rbac-etcd.yaml");
  await prepareEtcd(cluster, pools);
}

/** Gives an API server our roles, CRDs and pools. */
export async function prepareKubernetes(cluster: ClusterFacts, pools: readonly string[]): Promise<void> {
  await cluster.api.kubectl(["wait", "--for=create", "namespace/kube-system", "--timeout=180s"]);
  await applyRoles(cluster.api);
  await initialise(kubernetesAccess(cluster), pools);
}

/** What `netplugctl` needs in its environment for the datastore in the API server's etcd. */
export function etcdAccess({ api }: ClusterFacts): Readonly<Record<string, string>> {
  return { ETCD_ENDPOINTS: api.etcdEndpoint };
}

/** What `netplugctl` needs in its environment for the datastore in the API server, as the administrator. */
export function kubernetesAccess({ api }: ClusterFacts): Readonly<Record<string, string>> {
  return { DATASTORE_TYPE: "kubernetes", KUBECONFIG: api.kubeconfigFile };
}
