/** Settings of datastore access before they are merged: from options, the environment, or a file. */

import { NetplugError } from "../lib/errors.ts";
import { quote } from "../lib/quote.ts";
import type { DatastoreConfig } from "./datastore-config.ts";
import { checkEtcdConfig, normaliseEndpoint, splitEndpoints } from "./datastore-config.ts";

/** One source's word on datastore access; what it does not mention is absent. Named as in `netplugctl.cfg`. */
export type DatastoreSettings = { readonly [K in SettingName]?: string };

/** Every setting, with its variable in the environment. */
export const DATASTORE_VARIABLES = {
  datastoreType: "DATASTORE_TYPE",
  etcdEndpoints: "ETCD_ENDPOINTS",
  etcdDiscoverySrv: "ETCD_DISCOVERY_SRV",
  etcdUsername: "ETCD_USERNAME",
  etcdPassword: "ETCD_PASSWORD",
  etcdKeyFile: "ETCD_KEY_FILE",
  etcdCertFile: "ETCD_CERT_FILE",
  etcdCACertFile: "ETCD_CA_CERT_FILE",
  kubeconfig: "KUBECONFIG",
  k8sAPIEndpoint: "K8S_API_ENDPOINT",
  k8sAPIToken: "K8S_API_TOKEN",
  k8sCAFile: "K8S_CA_FILE",
} as const;

export type SettingName = keyof typeof DATASTORE_VARIABLES;

/** What the environment says. A variable with the prefix `NETPLUG_` beats the one without; an empty one is absent. */
export function datastoreSettingsOfEnvironment(env: Readonly<Record<string, string | undefined>>): DatastoreSettings {
  const settings: { [K in SettingName]?: string } = {};
  for (const [name, variable] of Object.entries(DATASTORE_VARIABLES)) {
    const value = [env[`NETPLUG_${variable}`], env[variable]].find((text) => text !== undefined && text !== "");
    // The keys of the table are the names.
    if (value !== undefined) settings[name as SettingName] = value;
  }
  return settings;
}

/** Merges two sources: `first` wins. Endpoints and discovery say the same thing, so either of `first` hides both of `second`. */
export function mergeDatastoreSettings(first: DatastoreSettings, second: DatastoreSettings): DatastoreSettings {
  if (first.etcdEndpoints === undefined && first.etcdDiscoverySrv === undefined) return { ...second, ...first };
  const { etcdEndpoints: _endpoints, etcdDiscoverySrv: _domain, ...rest } = second;
  return { ...rest, ...first };
}

/**
 * Makes of merged settings what `openDatastore` wants.
 *
 * @throws NetplugError invalidConfig
 */
export function toDatastoreConfig(settings: DatastoreSettings): DatastoreConfig {
  const type = settings.datastoreType ?? "etcdv3";
  if (type === "kubernetes") return { type };
  if (type !== "etcdv3")
    throw new NetplugError("invalidConfig", `choose datastore: got type ${quote(type)}, want "etcdv3" or "kubernetes"`);
  const etcd = {
    endpoints: splitEndpoints(settings.etcdEndpoints ?? "").map(normaliseEndpoint),
    ...pick("discoverySrv", settings.etcdDiscoverySrv),
    ...pick("caCertFile", settings.etcdCACertFile),
    ...pick("certFile", settings.etcdCertFile),
    ...pick("keyFile", settings.etcdKeyFile),
    ...pick("username", settings.etcdUsername),
    ...pick("password", settings.etcdPassword),
  };
  checkEtcdConfig(etcd);
  return { type, etcd };
}

function pick<K extends string>(key: K, value: string | undefined): { readonly [P in K]?: string } {
  // A computed key widens to an index signature.
  return (value === undefined ? {} : { [key]: value }) as { readonly [P in K]?: string };
}
