/** Which datastore a command speaks to: options, environment, configuration file, in this order. */

import type { DatastoreConfig, KubernetesConfig } from "../datastore/datastore-config.ts";
import type { Datastore } from "../datastore/datastore.ts";
import {
  type DatastoreSettings,
  datastoreSettingsOfEnvironment,
  mergeDatastoreSettings,
  toDatastoreConfig,
} from "../datastore/datastore-settings.ts";
import type { KubeClient } from "../kube/client.ts";
import { settingsOfFile } from "./config-file.ts";
import type { Cli, CliIo, GlobalOptions } from "./io.ts";

/** What `kubectl` calls us as. */
const KUBECTL_PLUGIN = "kubectl-netplug";

/** A person waits, and has set the variables for proxies; the API server itself says when it is too much. The role permits every command. */
const BY_HAND = { qps: 0, usesProxyVariables: true, role: "cluster-admin" } as const;

/**
 * Opens the datastore for one piece of work and lets go of it.
 *
 * @throws {CommandFailed} a configuration file that is missing or makes no sense
 */
export async function withDatastore<T>(cli: Cli, work: (datastore: Datastore) => Promise<T>): Promise<T> {
  const datastore = cli.io.openDatastore(datastoreConfigOf(cli));
  try {
    return await work(datastore);
  } finally {
    datastore.close();
  }
}

/** Opens the Kubernetes API for what is no datastore's work, such as CRDs. */
export async function withKube<T>(cli: Cli, settings: KubernetesConfig, work: (client: KubeClient) => Promise<T>): Promise<T> {
  const client = await cli.io.openKube(settings);
  try {
    return await work(client);
  } finally {
    client.close();
  }
}

/** Merges what all sources say. @throws {CommandFailed} NetplugError invalidConfig */
export function datastoreConfigOf({ io, options, program }: Cli): DatastoreConfig {
  const explicit: DatastoreSettings = options.kubeconfig === undefined ? {} : { kubeconfig: options.kubeconfig };
  const merged = merge(merge(explicit, datastoreSettingsOfEnvironment(io.env)), settingsOfFile(io, options.config));
  // Who says how to reach Kubernetes, and nothing of etcd, means Kubernetes.
  const isEtcdNamed = merged.etcdEndpoints !== undefined || merged.etcdDiscoverySrv !== undefined;
  const isKubeNamed = options.kubeconfig !== undefined || options.context !== undefined || program === KUBECTL_PLUGIN;
  const config = toDatastoreConfig(isKubeNamed && !isEtcdNamed ? { datastoreType: "kubernetes", ...merged } : merged);
  return config.type === "kubernetes" ? { ...config, kubernetes: complete(config.kubernetes, io, options) } : config;
}

/** A kubeconfig is complete: its user's token must not go to a server that a lesser source names, nor a lesser source's token to its server. */
function merge(first: DatastoreSettings, second: DatastoreSettings): DatastoreSettings {
  if (first.kubeconfig === undefined) return mergeDatastoreSettings(first, second);
  const { k8sAPIEndpoint: _endpoint, k8sAPIToken: _token, k8sCAFile: _ca, ...rest } = second;
  return mergeDatastoreSettings(first, rest);
}

/** Without a kubeconfig the one that kubectl reads, else what every pod has. */
function complete(config: KubernetesConfig, { env }: CliIo, { context }: GlobalOptions): KubernetesConfig {
  const home = env["HOME"] ?? "";
  return { ...config, ...BY_HAND, context, ...(home !== "" && { defaultKubeconfig: `${home}/.kube/config` }) };
}
