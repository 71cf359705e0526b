/** Where the datastore is, and our credentials there, as all roles hand it to `openDatastore`. */

import type { KubeSettings } from "../kube/access/access.ts";
import type { RateOptions } from "../kube/rate-limit.ts";
import type { TransportOptions } from "../kube/transport.ts";
import { NetplugError } from "../lib/errors.ts";
import { quote } from "../lib/quote.ts";
import type { DatastoreTraits } from "./datastore.ts";

/** Where etcd is asked when nobody says where it is: on this host. */
export const DEFAULT_ETCD_ENDPOINT = "http://127.0.0.1:2379";

/** Every value is already merged from network config, options and environment; files are not read yet. */
export interface EtcdConfig {
  /** URLs, `http://` or `https://`, without path; exclusive with `discoverySrv`. Both unset: {@link DEFAULT_ETCD_ENDPOINT}. */
  readonly endpoints: readonly string[];
  /** Domain under which `_etcd-client-ssl._tcp` and `_etcd-client._tcp` are looked up. */
  readonly discoverySrv?: string;
  /** PEM files. `caCertFile` may hold several roots; key and certificate come together. */
  readonly caCertFile?: string;
  readonly certFile?: string;
  readonly keyFile?: string;
  /** User and password come together. */
  readonly username?: string;
  readonly password?: string;
  /** Where processes of a node keep tokens of log-ins for each other; absent: each logs in. */
  readonly tokenFolder?: string;
}

/** Where a node's hint of its blocks is (`kubernetes/state/block-hints.ts`). Everything that allocates addresses for the node must share it. */
export interface HintPlace {
  /** In a folder that does not outlive a boot, such as `/var/run/netplug`. */
  readonly file: string;
  readonly node: string;
}

/** As {@link EtcdConfig}: merged, and no file is read yet. */
export interface KubernetesConfig extends KubeSettings, RateOptions, Pick<TransportOptions, "usesProxyVariables"> {
  /** ClusterRole that permits what is done, for the message when it does not. @default "netplug-cni" */
  readonly role?: string | undefined;
  /** Where our node notes the blocks in which it has something; absent: it finds them by label. */
  readonly hints?: HintPlace | undefined;
}

/** Which datastore, and how to get in: merged from all sources. What none of them says gets its default when the datastore is opened. */
export type DatastoreConfig =
  { readonly type: "etcdv3"; readonly etcd: EtcdConfig } | { readonly type: "kubernetes"; readonly kubernetes: KubernetesConfig };

/** The config of a process on a node: the driver may note things in the run directory, which the node's processes share. */
export function onNode(config: DatastoreConfig, node: string, folder: string): DatastoreConfig {
  if (config.type === "etcdv3") return { ...config, etcd: { ...config.etcd, tokenFolder: `${folder}/etcd-tokens` } };
  return { ...config, kubernetes: { ...config.kubernetes, hints: { file: `${folder}/blocks.json`, node } } };
}

/** Whether certificates are configured, and endpoints that do not use them: what `plaintext-endpoints.ts` warns of. */
export function isPartlyPlain(config: DatastoreConfig): config is Extract<DatastoreConfig, { readonly type: "etcdv3" }> {
  if (config.type !== "etcdv3") return false;
  const { endpoints, caCertFile, certFile } = config.etcd;
  return (caCertFile ?? certFile) !== undefined && endpoints.some((endpoint) => endpoint.startsWith("http:"));
}

/** What callers may rely on with etcd: a transaction reads one revision and commits all or nothing. */
export const ETCD_TRAITS: DatastoreTraits = {
  readsOneSnapshot: true,
  commitsAtOnce: true,
  listsMayLag: false,
  recordsArePods: false,
};

/** What callers may rely on with the Kubernetes API: each write is one object, and lists may come from a cache. */
export const KUBERNETES_TRAITS: DatastoreTraits = {
  readsOneSnapshot: false,
  commitsAtOnce: false,
  listsMayLag: true,
  recordsArePods: true,
};

/** Splits a comma-separated list of endpoints; spaces around an entry and empty entries do not count. */
export function splitEndpoints(text: string): readonly string[] {
  const endpoints: string[] = [];
  for (const part of text.split(",")) {
    const endpoint = part.trim();
    if (endpoint !== "") endpoints.push(endpoint);
  }
  return endpoints;
}

/**
 * Brings an endpoint into the form `scheme://host:port`. A missing scheme is `http`, a missing port 2379.
 *
 * @param where it was read, for messages
 * @throws NetplugError invalidConfig, which repeats the endpoint only when it cannot hold a password
 */
export function normaliseEndpoint(text: string, where = "etcd endpoint"): string {
  const withScheme = text.includes("://") ? text : `http://${text}`;
  if (withScheme.includes("@")) {
    throw new NetplugError("invalidConfig", `parse ${where}: got one with user or password, want them in etcd_username and etcd_password`);
  }
  const url = URL.parse(withScheme);
  // Not by `url.search`: of "http://host:80?" it is empty.
  const hasMore = withScheme.includes("?") || withScheme.includes("#");
  const isServer = url !== null && !hasMore && url.pathname === "/" && (url.protocol === "http:" || url.protocol === "https:");
  const port = isServer ? portOf(withScheme, url) : Number.NaN;
  if (!isServer || Number.isNaN(port)) {
    throw new NetplugError("invalidConfig", `parse ${where} ${quote(text)}: want http://host:port or https://host:port, joined by commas`);
  }
  return `${url.protocol}//${url.hostname}:${port}`;
}

/**
 * Checks what must come together and what excludes each other.
 *
 * @throws NetplugError invalidConfig
 */
export function checkEtcdConfig(config: EtcdConfig): void {
  if (config.endpoints.length > 0 && config.discoverySrv !== undefined) {
    throw new NetplugError("invalidConfig", "choose etcd endpoints: got etcd_endpoints and etcd_discovery_srv, want only one of them");
  }
  if ((config.certFile === undefined) !== (config.keyFile === undefined)) {
    throw new NetplugError("invalidConfig", "choose etcd client certificate: want etcd_cert_file and etcd_key_file together");
  }
  if ((config.username === undefined) !== (config.password === undefined)) {
    throw new NetplugError("invalidConfig", "choose etcd user: want etcd_username and etcd_password together");
  }
}

/** `URL` drops a port that is the scheme's own: `http://host:80` means 80, `http://host` means etcd's. NaN: none that we know. */
function portOf(text: string, url: URL): number {
  if (url.port !== "") return Number(url.port);
  const authority = text.slice(text.indexOf("://") + 3, text.endsWith("/") ? -1 : undefined);
  const colon = authority.lastIndexOf(":");
  // After the last colon comes a port, or the end of an IPv6 address: "1]".
  const port = colon < 0 ? "" : authority.slice(colon + 1);
  return port === "" || port.endsWith("]") ? 2379 : Number(port);
}
