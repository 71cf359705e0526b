/** Which datastore a command speaks to: options, environment, configuration file, in this order. */

import { type DatastoreConfig, isPartlyPlain, type KubernetesConfig } from "../../datastore/config/datastore-config.ts";
import type { Datastore } from "../../datastore/datastore.ts";
import {
  type DatastoreSettings,
  datastoreSettingsOfEnvironment,
  mergeDatastoreSettings,
  settingsOfEtcd,
  toDatastoreConfig,
} from "../../datastore/config/datastore-settings.ts";
import { warnOfPlaintext } from "../../datastore/config/plaintext-endpoints.ts";
import type { KubeClient } from "../../kube/client.ts";
import { NetplugError } from "../../lib/errors.ts";
import { AdvisedFailure } from "../failures/failure.ts";
import { type Cli, note, type OpenKube } from "../io.ts";
import { adviceFor, originOfEtcd } from "./reach.ts";
import { nameOrigins, originOf } from "./setting-origin.ts";
import { tellingReads } from "./telling-reads.ts";

/** What a person types to call us through `kubectl`. */
const KUBECTL_PLUGIN = "kubectl netplug";

/** For calls by a person: no rate limit of ours, for somebody waits and the API server has its own; proxy variables count. */
const BY_HAND = { qps: 0, usesProxyVariables: true } as const;

/**
 * Opens the datastore for one piece of work and lets go of it.
 *
 * @param change of the config that the settings make
 * @param work gets also what gives the datastore's client of the Kubernetes API; undefined for etcd. For a second client a person would have to
 *   log in again
 * @throws {CommandFailed} a configuration file that is missing or makes no sense
 */
export async function withDatastore<T>(
  cli: Cli,
  work: (datastore: Datastore, openKube: OpenKube | undefined) => Promise<T>,
  change: (config: DatastoreConfig) => DatastoreConfig = (config) => config,
): Promise<T> {
  const config = change(await datastoreConfigOf(cli));
  noteUnused(cli, config);
  if (isPartlyPlain(config))
    warnOfPlaintext(
      config.etcd,
      (text) => note(cli, `warning: ${text}`),
      (name) => originOf(name, cli),
    );
  const openKube = config.type === "kubernetes" ? kubeOpenerOf(cli, config.kubernetes) : undefined;
  const datastore = tellingReads(cli.io.openDatastore(config, cli.io.files, openKube), cli.io.progress);
  try {
    return await withAdvice(cli, config, () => work(datastore, openKube));
  } finally {
    cli.io.progress?.wipe();
    datastore.close();
  }
}

function kubeOpenerOf(cli: Cli, config: KubernetesConfig): OpenKube {
  let opening: Promise<KubeClient> | undefined;
  return () => (opening ??= cli.io.openKube(config, cli.io.files));
}

/** Warns that `--kubeconfig` or `--context` is not used with etcd: the answer is not from the cluster that it names. */
function noteUnused(cli: Cli, config: DatastoreConfig): void {
  const given = (["kubeconfig", "context"] as const).find((name) => cli.options[name] !== undefined);
  if (config.type === "kubernetes" || given === undefined) return;
  note(
    cli,
    `warning: --${given} is not used, for the datastore is etcd, as ${originOfEtcd(config.etcd, cli)} says; for Kubernetes set DATASTORE_TYPE=kubernetes`,
  );
}

/** Does work that needs the datastore. If it cannot be reached, the failure says where we looked, and which setting says so. */
export async function withAdvice<T>(cli: Cli, config: DatastoreConfig, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    // Calls may be nested: the inner one has added the advice.
    if (!(thrown instanceof NetplugError) || thrown instanceof AdvisedFailure) throw thrown;
    const told = config.type === "etcdv3" ? nameOrigins(thrown, settingsOfEtcd(config.etcd), cli) : thrown;
    const advice = adviceFor(thrown, config, cli);
    throw advice === undefined ? told : new AdvisedFailure(told, advice);
  }
}

/** Opens the Kubernetes API for work outside the datastore, such as CRDs. */
export async function withKube<T>(cli: Cli, settings: KubernetesConfig, work: (client: KubeClient) => Promise<T>): Promise<T> {
  const client = await cli.io.openKube(settings, cli.io.files);
  try {
    return await withAdvice(cli, { type: "kubernetes", kubernetes: settings }, () => work(client));
  } finally {
    client.close();
  }
}

/** Merges what all sources say. @throws {CommandFailed} NetplugError invalidConfig */
export async function datastoreConfigOf(cli: Cli): Promise<DatastoreConfig> {
  const { io, options, program, settingsOfFile } = cli;
  const explicit: DatastoreSettings = options.kubeconfig === undefined ? {} : { kubeconfig: options.kubeconfig };
  const ofCall = mergeDatastoreSettings(explicit, datastoreSettingsOfEnvironment(io.env));
  const merged = mergeDatastoreSettings(ofCall, await settingsOfFile());
  // Whoever says how to reach Kubernetes, and nothing about etcd, means Kubernetes.
  const isEtcdNamed = merged.etcdEndpoints !== undefined || merged.etcdDiscoverySrv !== undefined;
  const isKubeNamed = options.kubeconfig !== undefined || options.context !== undefined || program === KUBECTL_PLUGIN;
  const settings: DatastoreSettings = isKubeNamed && !isEtcdNamed ? { datastoreType: "kubernetes", ...merged } : merged;
  try {
    const config = toDatastoreConfig(settings, (name) => originOf(name, cli));
    return config.type === "kubernetes" ? { ...config, kubernetes: complete(config.kubernetes, cli) } : config;
  } catch (thrown) {
    throw thrown instanceof NetplugError ? nameOrigins(thrown, settings, cli) : thrown;
  }
}

/** Without a kubeconfig the one that kubectl reads, else what every pod has. */
function complete(config: KubernetesConfig, { io: { env }, options: { context }, role }: Cli): KubernetesConfig {
  const home = env["HOME"] ?? "";
  return { ...config, ...BY_HAND, role, context, ...(home !== "" && { defaultKubeconfig: `${home}/.kube/config` }) };
}
