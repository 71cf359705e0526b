/** Settings of datastore access: read from options, the environment, or a file; merged; and made into a config. */

import { isName } from "../../lib/characters.ts";
import { NetplugError } from "../../lib/errors.ts";
import { tryParseAddress } from "../../lib/ip/address.ts";
import { quote } from "../../lib/quote.ts";
import type { DatastoreConfig, EtcdConfig } from "./datastore-config.ts";

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
export type EtcdSettings = Pick<EtcdConfig, "endpoints"> & { readonly [K in Exclude<keyof EtcdConfig, "endpoints">]?: string | undefined };

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
  const etcd = {
    endpoints: parseEndpoints(settings.etcdEndpoints ?? "", nameOf?.("etcdEndpoints")),
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

/**
 * Splits a list at its commas, and brings each endpoint into the form `scheme://host:port`. A missing port is 2379, a missing scheme is no
 * guess between plain text and TLS, but refused; spaces around an endpoint and empty entries do not count.
 *
 * @param where it was read, for messages
 * @throws NetplugError invalidConfig
 */
export function parseEndpoints(text: string, where = "etcd endpoint"): readonly string[] {
  const endpoints: string[] = [];
  for (const part of text.split(",")) {
    const endpoint = part.trim();
    if (endpoint !== "") endpoints.push(parseEndpoint(endpoint, where));
  }
  return endpoints;
}

/**
 * Checks what must come together, what excludes each other, and where servers are looked up.
 *
 * @throws NetplugError invalidConfig
 */
export function checkEtcdConfig(config: EtcdConfig): void {
  if (config.endpoints.length > 0 && config.discoverySrv !== undefined) {
    throw new NetplugError("invalidConfig", "choose etcd endpoints: got etcd_endpoints and etcd_discovery_srv, want only one of them");
  }
  const { discoverySrv } = config;
  if (discoverySrv !== undefined && !isDomainName(discoverySrv)) {
    const got = discoverySrv.includes("@") ? "one with user or password" : quote(discoverySrv);
    throw new NetplugError("invalidConfig", `read etcd_discovery_srv: got ${got}, want a domain name`);
  }
  if ((config.certFile === undefined) !== (config.keyFile === undefined)) {
    throw new NetplugError("invalidConfig", "choose etcd client certificate: want etcd_cert_file and etcd_key_file together");
  }
  if ((config.username === undefined) !== (config.password === undefined)) {
    throw new NetplugError("invalidConfig", "choose etcd user: want etcd_username and etcd_password together");
  }
}

/** The error repeats the endpoint only when it cannot hold a password. */
function parseEndpoint(text: string, where: string): string {
  if (text.includes("@")) {
    throw new NetplugError("invalidConfig", `parse ${where}: got one with user or password, want them in etcd_username and etcd_password`);
  }
  const url = isEtcdEndpoint(text) ? URL.parse(text) : null;
  if (url === null) {
    const wanted = "http://host:port or https://host:port, IPv4 without leading zeros, IPv6 in brackets, joined by commas";
    throw new NetplugError("invalidConfig", `parse ${where} ${quote(text)}: want ${wanted}`);
  }
  return `${url.protocol}//${url.hostname}:${portOf(text, url)}`;
}

/** `URL` drops a port that is the scheme's own: `http://host:80` means 80, `http://host` means etcd's. */
function portOf(text: string, url: URL): number {
  if (url.port !== "") return Number(url.port);
  const authority = text.slice(text.indexOf("://") + 3, text.endsWith("/") ? -1 : undefined);
  const colon = authority.lastIndexOf(":");
  // After the last colon comes a port, or the end of an IPv6 address: "1]".
  const port = colon < 0 ? "" : authority.slice(colon + 1);
  return port === "" || port.endsWith("]") ? 2379 : Number(port);
}

/** Scheme, authority and at most one slash. `URL` alone forgives more: `http:///host`, a tab. */
export function isEtcdEndpoint(text: string): boolean {
  const at = text.indexOf("://") + 3;
  const scheme = text.slice(0, at).toLowerCase();
  if (scheme !== "http://" && scheme !== "https://") return false;
  return isAuthority(text.slice(at, text.endsWith("/") ? -1 : undefined));
}

/** Host name or address, IPv6 in brackets, and a port or none; no user. */
export function isAuthority(text: string): boolean {
  const colon = text.indexOf(":", text.indexOf("]") + 1);
  const host = colon < 0 ? text : text.slice(0, colon);
  if (colon >= 0 && !isPort(text.slice(colon + 1))) return false;
  if (host.startsWith("[")) return host.endsWith("]") && tryParseAddress(host.slice(1, -1))?.family === 6;
  return isName(host, "._-") && (tryParseAddress(host) !== undefined || !ENDS_IN_NUMBER.test(host));
}

/** Such a host is an IPv4 address to `URL`: `010.0.0.1` is 8.0.0.1, and `127.1` is 127.0.0.1. */
const ENDS_IN_NUMBER = /(^|\.)(\d+|0x[\da-f]*)\.?$/i;

/** A name under which SRV records are looked up; underscores are common there. */
export function isDomainName(text: string): boolean {
  return text.length <= 253 && /^[a-z0-9_]([a-z0-9_-]*[a-z0-9])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9])?)*\.?$/i.test(text);
}

/** 1 … 65535, in decimal without sign or leading zero. */
function isPort(text: string): boolean {
  const port = Number(text);
  return String(port) === text && port >= 1 && port <= 65_535 && Number.isInteger(port);
}
