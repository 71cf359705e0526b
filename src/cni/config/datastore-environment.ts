/** Where the datastore of a call is: the network config, then the environment, then the defaults. */

import { toDatastoreConfig, datastoreSettingsOfEnvironment, mergeDatastoreSettings } from "../../datastore/datastore-settings.ts";
import type { DatastoreSettings } from "../../datastore/datastore-settings.ts";
import type { DatastoreConfig } from "../../datastore/datastore-config.ts";
import type { KubeSettings } from "../../kube/access/access.ts";
import type { NetworkConfig } from "./network-config.ts";

/**
 * Merges config and environment. A config that says in any form where etcd is hides both variables that say it too.
 *
 * @throws NetplugError invalidConfig
 */
export function resolveDatastore(config: NetworkConfig, env: Environment): DatastoreConfig {
  return toDatastoreConfig(mergeSettings(config, env));
}

/** How the Kubernetes API is reached, whatever the datastore is. */
export function resolveKubeSettings(config: NetworkConfig, env: Environment): KubeSettings {
  const { kubeconfig, k8sAPIEndpoint: apiRoot, k8sAPIToken: token, k8sCAFile: caFile } = mergeSettings(config, env);
  return { kubeconfig, apiRoot, token, caFile };
}

type Environment = Readonly<Record<string, string | undefined>>;

/** A kubeconfig of the config says all: it hides what the environment says of the Kubernetes API. */
function mergeSettings(config: NetworkConfig, env: Environment): DatastoreSettings {
  const own = toSettings(config);
  const others = datastoreSettingsOfEnvironment(env);
  if (own.kubeconfig === undefined) return mergeDatastoreSettings(own, others);
  const { kubeconfig: _kubeconfig, k8sAPIEndpoint: _endpoint, k8sAPIToken: _token, k8sCAFile: _file, ...rest } = others;
  return mergeDatastoreSettings(own, rest);
}

function toSettings({ datastoreType, etcd, kubernetes }: NetworkConfig): DatastoreSettings {
  const { endpoints, discoverySrv, keyFile, certFile, caCertFile, username, password } = etcd;
  return {
    ...(datastoreType !== undefined && { datastoreType }),
    ...(endpoints.length > 0 && { etcdEndpoints: endpoints.join(",") }),
    ...(discoverySrv !== undefined && { etcdDiscoverySrv: discoverySrv }),
    ...(keyFile !== undefined && { etcdKeyFile: keyFile }),
    ...(certFile !== undefined && { etcdCertFile: certFile }),
    ...(caCertFile !== undefined && { etcdCACertFile: caCertFile }),
    ...(username !== undefined && { etcdUsername: username }),
    ...(password !== undefined && { etcdPassword: password }),
    ...(kubernetes.kubeconfig !== undefined && { kubeconfig: kubernetes.kubeconfig }),
    ...(kubernetes.apiRoot !== undefined && { k8sAPIEndpoint: kubernetes.apiRoot }),
  };
}
