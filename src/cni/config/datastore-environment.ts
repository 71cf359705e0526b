/** Where the datastore of a call is: the network config, then the environment, then the defaults. */

import {
  type DatastoreSettings,
  datastoreSettingsOfEnvironment,
  mergeDatastoreSettings,
  settingsOfEtcd,
  toDatastoreConfig,
  variableOf,
} from "../../datastore/config/datastore-settings.ts";
import type { DatastoreConfig } from "../../datastore/config/datastore-config.ts";
import type { KubeSettings } from "../../kube/access/access.ts";
import type { NetworkConfig } from "./network-config.ts";

/**
 * Merges config and environment. A config that says in any form where etcd is hides both variables that say it too.
 *
 * @throws NetplugError invalidConfig
 */
export function resolveDatastore(config: NetworkConfig, env: Environment): DatastoreConfig {
  const settings = mergeSettings(config, env);
  if (settings.datastoreType === "kubernetes") return toDatastoreConfig(settings);
  // What the network config says was checked when it was read.
  return toDatastoreConfig(settings, (name) => variableOf(name, env) ?? name);
}

/** How the Kubernetes API is reached, whatever the datastore is; messages name the key or the variable that says so. */
export function resolveKubeSettings(config: NetworkConfig, env: Environment): KubeSettings {
  const { kubeconfig, k8sAPIEndpoint: apiRoot, k8sAPIToken: token, k8sCAFile: caFile } = mergeSettings(config, env);
  const isOwnRoot = config.kubernetes.apiRoot !== undefined;
  const names = {
    apiRoot: isOwnRoot ? '"kubernetes.k8s_api_root"' : apiRoot && variableOf("k8sAPIEndpoint", env),
    token: token && variableOf("k8sAPIToken", env),
    caFile: caFile && variableOf("k8sCAFile", env),
  };
  return { kubeconfig, apiRoot, token, caFile, names };
}

type Environment = Readonly<Record<string, string | undefined>>;

function mergeSettings({ datastoreType, etcd, kubernetes }: NetworkConfig, env: Environment): DatastoreSettings {
  const own = {
    ...settingsOfEtcd(etcd),
    ...(datastoreType !== undefined && { datastoreType }),
    ...(kubernetes.kubeconfig !== undefined && { kubeconfig: kubernetes.kubeconfig }),
    ...(kubernetes.apiRoot !== undefined && { k8sAPIEndpoint: kubernetes.apiRoot }),
  };
  return mergeDatastoreSettings(own, datastoreSettingsOfEnvironment(env));
}
