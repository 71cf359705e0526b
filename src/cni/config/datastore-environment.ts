/** Where the datastore of a call is: the network config, then the environment, then the defaults. */

import { toDatastoreConfig, datastoreSettingsOfEnvironment, mergeDatastoreSettings } from "../../datastore/datastore-settings.ts";
import type { DatastoreSettings } from "../../datastore/datastore-settings.ts";
import type { DatastoreConfig } from "../../datastore/datastore-config.ts";
import { NetplugError } from "../../lib/errors.ts";
import type { NetworkConfig } from "../network-config.ts";

/**
 * Merges config and environment. A config that says in any form where etcd is hides both variables that say it too.
 *
 * @throws NetplugError invalidConfig
 */
export function resolveDatastore(config: NetworkConfig, env: Readonly<Record<string, string | undefined>>): DatastoreConfig {
  return toDatastoreConfig(mergeDatastoreSettings(toSettings(config), datastoreSettingsOfEnvironment(env)));
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

/**
 * The Kubernetes datastore is not part of this version yet: says so instead of doing half of what the config asks.
 *
 * @throws NetplugError invalidConfig
 */
export function refuseUntilKubernetes(datastore: DatastoreConfig): void {
  if (datastore.type !== "kubernetes") return;
  throw new NetplugError("invalidConfig", 'read "datastore_type": got "kubernetes", want "etcdv3": it comes with the Kubernetes datastore');
}
