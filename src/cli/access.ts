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
import { NetplugError } from "../lib/errors.ts";
import { quote } from "../lib/quote.ts";
import { settingsOfFile } from "./config-file.ts";
import type { Cli, CliIo, GlobalOptions } from "./io.ts";

/** What a person types to call us through `kubectl`. */
const KUBECTL_PLUGIN = "kubectl netplug";

/**
 * For calls by a person: no rate limit of ours, for somebody waits and the API server has its own; proxy variables count; the role permits
 * every command.
 */
const BY_HAND = { qps: 0, usesProxyVariables: true, role: "netplug-admin" } as const;

/**
 * Opens the datastore for one piece of work and lets go of it.
 *
 * @throws {CommandFailed} a configuration file that is missing or makes no sense
 */
export async function withDatastore<T>(cli: Cli, work: (datastore: Datastore) => Promise<T>): Promise<T> {
  const config = datastoreConfigOf(cli);
  const datastore = cli.io.openDatastore(config);
  try {
    return await withAdvice(config, cli.io, () => work(datastore));
  } finally {
    datastore.close();
  }
}

/** How to say where the datastore is, and which failures come of nobody saying so. */
interface Advice {
  readonly text: string;
  helpsAgainst(failure: NetplugError): boolean;
}

/** @returns undefined where somebody said it */
function adviceFor(config: DatastoreConfig, io: CliIo): Advice | undefined {
  if (config.type === "kubernetes") return adviceForKubernetes(config.kubernetes, io);
  if (config.etcd.endpoints.length > 0 || config.etcd.discoverySrv !== undefined) return undefined;
  // etcd's default address is tried: "connection refused" alone does not help a person who forgot to name it.
  return {
    text: "nobody said where the datastore is: set ETCD_ENDPOINTS, or for Kubernetes DATASTORE_TYPE=kubernetes, --kubeconfig or --context",
    helpsAgainst: ({ retriable }) => retriable,
  };
}

function adviceForKubernetes({ kubeconfig, apiRoot, defaultKubeconfig }: KubernetesConfig, { files, env }: CliIo): Advice | undefined {
  if (kubeconfig !== undefined || apiRoot !== undefined || (env["KUBERNETES_SERVICE_HOST"] ?? "") !== "") return undefined;
  if (defaultKubeconfig !== undefined && files.exists(defaultKubeconfig)) return undefined;
  const otherwise = defaultKubeconfig === undefined ? "" : `; there is no ${quote(defaultKubeconfig)}`;
  return { text: `name a kubeconfig: --kubeconfig FILE, or KUBECONFIG${otherwise}`, helpsAgainst: ({ kind }) => kind === "invalidConfig" };
}

/** Work that needs access: where that fails because nobody said where to go, the failure says how to. */
export async function withAdvice<T>(config: DatastoreConfig, io: CliIo, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    const advice = adviceFor(config, io);
    if (!(thrown instanceof NetplugError) || advice?.helpsAgainst(thrown) !== true) throw thrown;
    const { kind, message, details, retriable } = thrown;
    if (details?.includes(advice.text) === true) throw thrown; // one piece of work stands in another
    throw new NetplugError(kind, message, { cause: thrown, details: [details, advice.text].filter(Boolean).join("; "), retriable });
  }
}

/** Opens the Kubernetes API for work outside the datastore, such as CRDs. */
export async function withKube<T>(cli: Cli, settings: KubernetesConfig, work: (client: KubeClient) => Promise<T>): Promise<T> {
  const client = await cli.io.openKube(settings);
  try {
    return await withAdvice({ type: "kubernetes", kubernetes: settings }, cli.io, () => work(client));
  } finally {
    client.close();
  }
}

/** Merges what all sources say. @throws {CommandFailed} NetplugError invalidConfig */
export function datastoreConfigOf({ io, options, program }: Cli): DatastoreConfig {
  const explicit: DatastoreSettings = options.kubeconfig === undefined ? {} : { kubeconfig: options.kubeconfig };
  const merged = merge(merge(explicit, datastoreSettingsOfEnvironment(io.env)), settingsOfFile(io, options.config));
  // Whoever says how to reach Kubernetes, and nothing about etcd, means Kubernetes.
  const isEtcdNamed = merged.etcdEndpoints !== undefined || merged.etcdDiscoverySrv !== undefined;
  const isKubeNamed = options.kubeconfig !== undefined || options.context !== undefined || program === KUBECTL_PLUGIN;
  const config = toDatastoreConfig(isKubeNamed && !isEtcdNamed ? { datastoreType: "kubernetes", ...merged } : merged);
  return config.type === "kubernetes" ? { ...config, kubernetes: complete(config.kubernetes, io, options) } : config;
}

/**
 * A kubeconfig is complete: its user's token must not go to a server that a lesser source names, nor a lesser source's token to its server.
 */
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
