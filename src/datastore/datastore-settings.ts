/** Settings of datastore access before they are merged: from options, the environment, or a file. */

import { NetplugError } from "../lib/errors.ts";
import { quote } from "../lib/quote.ts";
import { checkEtcdConfig, type DatastoreConfig, type EtcdConfig, normaliseEndpoint, splitEndpoints } from "./datastore-config.ts";

/** The settings of one source; those that it does not mention are absent. Named as in `netplugctl.cfg`. */
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

/** What a setting is called in `netplugctl.cfg`; `DATASTORE_VARIABLES` has its environment variable. */
export type SettingName = keyof typeof DATASTORE_VARIABLES;

/** What the environment says. A variable with the prefix `NETPLUG_` beats the one without; an empty one is absent. */
export function datastoreSettingsOfEnvironment(env: Readonly<Record<string, string | undefined>>): DatastoreSettings {
  const settings: { [K in SettingName]?: string } = {};
  // The keys of the table are the names. No callbacks: the plugin pays for the first use of each.
  for (const name of Object.keys(DATASTORE_VARIABLES) as SettingName[]) {
    const prefixed = env[`NETPLUG_${DATASTORE_VARIABLES[name]}`];
    const value = prefixed === undefined || prefixed === "" ? env[DATASTORE_VARIABLES[name]] : prefixed;
    if (value !== undefined && value !== "") settings[name] = value;
  }
  return settings;
}

/** The variable that has the setting, if any has. */
export function variableOf(name: SettingName, env: Readonly<Record<string, string | undefined>>): string | undefined {
  const variable = DATASTORE_VARIABLES[name];
  for (const one of [`NETPLUG_${variable}`, variable]) if ((env[one] ?? "") !== "") return one;
  return undefined;
}

/**
 * Merges two sources: `first` wins. Endpoints and discovery say the same thing, so either of `first` hides both of `second`. A kubeconfig is
 * complete: its user's token must not go to a server that a lesser source names, nor a lesser source's token to its server.
 */
export function mergeDatastoreSettings(first: DatastoreSettings, second: DatastoreSettings): DatastoreSettings {
  const { k8sAPIEndpoint: _endpoint, k8sAPIToken: _token, k8sCAFile: _ca, ...withoutServer } = second;
  const others = first.kubeconfig === undefined ? second : withoutServer;
  const { etcdEndpoints: _endpoints, etcdDiscoverySrv: _domain, ...withoutEtcd } = others;
  const isEtcdNamed = first.etcdEndpoints !== undefined || first.etcdDiscoverySrv !== undefined;
  return { ...(isEtcdNamed ? withoutEtcd : others), ...first };
}

/** The settings in a config of etcd. */
export function settingsOfEtcd(etcd: EtcdSettings): DatastoreSettings {
  const { endpoints, discoverySrv, caCertFile, certFile, keyFile, username, password } = etcd;
  return {
    ...(endpoints.length > 0 && { etcdEndpoints: endpoints.join(",") }),
    ...(discoverySrv !== undefined && { etcdDiscoverySrv: discoverySrv }),
    ...(caCertFile !== undefined && { etcdCACertFile: caCertFile }),
    ...(certFile !== undefined && { etcdCertFile: certFile }),
    ...(keyFile !== undefined && { etcdKeyFile: keyFile }),
    ...(username !== undefined && { etcdUsername: username }),
    ...(password !== undefined && { etcdPassword: password }),
  };
}

/** As {@link EtcdConfig}, merged or not. */
type EtcdSettings = Pick<EtcdConfig, "endpoints"> & { readonly [K in Exclude<keyof EtcdConfig, "endpoints">]?: string | undefined };

/**
 * Makes of merged settings what `openDatastore` wants.
 *
 * @param nameOf the source of a setting, for messages; without it they describe the setting
 * @throws NetplugError invalidConfig
 */
export function toDatastoreConfig(settings: DatastoreSettings, nameOf?: (name: SettingName) => string): DatastoreConfig {
  const type = settings.datastoreType ?? "etcdv3";
  if (type === "kubernetes") {
    const { kubeconfig, k8sAPIEndpoint: apiRoot, k8sAPIToken: token, k8sCAFile: caFile } = settings;
    if (nameOf === undefined) return { type, kubernetes: { kubeconfig, apiRoot, token, caFile } };
    const names = { apiRoot: nameOf("k8sAPIEndpoint"), token: nameOf("k8sAPIToken"), caFile: nameOf("k8sCAFile") };
    return { type, kubernetes: { kubeconfig, apiRoot, token, caFile, names } };
  }
  if (type !== "etcdv3") {
    const source = nameOf === undefined ? "" : ` of ${nameOf("datastoreType")}`;
    throw new NetplugError("invalidConfig", `choose datastore: got type ${quote(type)}${source}, want "etcdv3" or "kubernetes"`);
  }
  const endpoints: string[] = [];
  for (const endpoint of splitEndpoints(settings.etcdEndpoints ?? ""))
    endpoints.push(normaliseEndpoint(endpoint, nameOf?.("etcdEndpoints")));
  const etcd = {
    endpoints,
    ...(settings.etcdDiscoverySrv !== undefined && { discoverySrv: settings.etcdDiscoverySrv }),
    ...(settings.etcdCACertFile !== undefined && { caCertFile: settings.etcdCACertFile }),
    ...(settings.etcdCertFile !== undefined && { certFile: settings.etcdCertFile }),
    ...(settings.etcdKeyFile !== undefined && { keyFile: settings.etcdKeyFile }),
    ...(settings.etcdUsername !== undefined && { username: settings.etcdUsername }),
    ...(settings.etcdPassword !== undefined && { password: settings.etcdPassword }),
  };
  checkEtcdConfig(etcd);
  return { type, etcd };
}
