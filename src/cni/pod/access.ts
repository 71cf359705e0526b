/** How a call reaches the API server: the network config, then the environment, then what every pod has. */

import { datastoreSettingsOfEnvironment } from "../../datastore/datastore-settings.ts";
import type { KubeSettings } from "../../kube/access/access.ts";
import type { KubeClient } from "../../kube/client.ts";
import type { Call } from "../call.ts";
import type { NetworkConfig } from "../network-config.ts";

/** Roles of `manifests/rbac.yaml`, for messages. */
const ROLES = { etcdv3: "netplug-cni-readonly", kubernetes: "netplug-cni", memory: "netplug-cni-readonly" } as const;

/** The caller closes it. */
export async function openKube({ config, host, datastore }: Call): Promise<KubeClient> {
  const { qps, burst } = config;
  return await host.openKube(toKubeSettings(config, host.env), { qps, burst, protocol: "http2", role: ROLES[datastore.type] });
}

/** A kubeconfig in the config is complete: it hides every variable of the environment. */
export function toKubeSettings(
  { kubernetes: { kubeconfig, apiRoot } }: Pick<NetworkConfig, "kubernetes">,
  env: Readonly<Record<string, string | undefined>>,
): KubeSettings {
  if (kubeconfig !== undefined) return { kubeconfig, apiRoot };
  const { kubeconfig: other, k8sAPIEndpoint, k8sAPIToken, k8sCAFile } = datastoreSettingsOfEnvironment(env);
  return { kubeconfig: other, apiRoot: apiRoot ?? k8sAPIEndpoint, token: k8sAPIToken, caFile: k8sCAFile };
}
