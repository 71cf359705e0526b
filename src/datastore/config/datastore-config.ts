/** Where the datastore is, and our credentials there, as all roles hand it to `openDatastore`. */

import type { KubeSettings } from "../../kube/access/access.ts";
import type { RateOptions } from "../../kube/requests/rate-limit.ts";
import type { TransportOptions } from "../../kube/requests/transport.ts";

/** Where etcd is asked when nobody says where it is: on this host. */
export const DEFAULT_ETCD_ENDPOINT = "http://127.0.0.1:2379";

/** Merged from network config, options and environment, and checked: `datastore-settings.ts` makes it. Files are not read yet. */
export interface EtcdConfig {
  /** Each `scheme://host:port`; exclusive with `discoverySrv`. Both unset: {@link DEFAULT_ETCD_ENDPOINT}. */
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

/** Where a node's hint of its blocks is (`../kubernetes/state/block-hints.ts`). Everything that allocates addresses for the node must share it. */
export interface HintPlace {
  /** In a folder that does not outlive a boot, such as `/var/run/netplug`. */
  readonly file: string;
  readonly node: string;
  /** Whether it may lack blocks, as after a restore of the datastore: then all are listed anew. @default false */
  readonly isDoubted?: boolean;
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
