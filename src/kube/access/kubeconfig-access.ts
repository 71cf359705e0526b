/** What one context of a kubeconfig comes down to. */

import { isDnsLabel } from "../../lib/characters.ts";
import { toChoice } from "../../lib/choice.ts";
import { NetplugError } from "../../lib/errors.ts";
import { quote } from "../../lib/quote.ts";
import type { KubeAccess, KubeSettings } from "./access.ts";
import { ANONYMOUS, BARE_ACCESS } from "./access.ts";
import { takeFlag, takeText } from "./fields.ts";
import type { Entry } from "./fields.ts";
import type { Kubeconfig, KubeconfigEntry } from "./kubeconfig.ts";
import { toUserAccess } from "./kubeconfig-user.ts";
import { takePem } from "./named-files.ts";
import { isOtherIPv4, normaliseApiRoot, normaliseServer } from "./server-url.ts";

/** How many names an error offers. */
const MAX_NAMED = 5;

/**
 * Reads the context that settings name, or the current one, with its cluster and its user.
 *
 * @throws NetplugError invalidConfig naming file and entry
 */
export function toKubeconfigAccess(config: Kubeconfig, settings: KubeSettings): KubeAccess {
  const name = settings.context ?? config.currentContext;
  if (name === undefined) {
    throw new NetplugError("invalidConfig", `read ${config.label}: it has no current-context; set it, or name a context`);
  }
  const context = find(config, "context", name);
  const clusterName = takeText(context, "cluster");
  const userName = takeText(context, "user");
  const cluster = clusterName === undefined ? undefined : find(config, "cluster", clusterName, context);
  const user = userName === undefined ? undefined : find(config, "user", userName, context);
  return {
    ...(cluster === undefined ? withoutCluster(context, settings) : toClusterAccess(cluster, settings)),
    user: user === undefined ? ANONYMOUS : toUserAccess(user, cluster),
    namespace: takeNamespace(context),
    origin: user?.label ?? context.label,
  };
}

/** Which server, and how it is reached. */
type ClusterAccess = Omit<KubeAccess, "user" | "namespace" | "origin">;

function toClusterAccess(cluster: KubeconfigEntry, settings: KubeSettings): ClusterAccess {
  const ca = takePem(cluster, "certificate-authority");
  const skipsTlsVerify = takeFlag(cluster, "insecure-skip-tls-verify");
  if (skipsTlsVerify && ca !== undefined) {
    throw new NetplugError("invalidConfig", `read ${cluster.label}: insecure-skip-tls-verify and certificate-authority exclude each other`);
  }
  const usesTls = skipsTlsVerify || ca !== undefined;
  const server = namedServer(settings, usesTls) ?? takeServer(cluster, usesTls);
  return { server, ca, skipsTlsVerify, tlsServerName: takeText(cluster, "tls-server-name"), proxyUrl: takeProxy(cluster) };
}

/** Nothing is known of the server but what settings say. */
function withoutCluster(context: Entry, settings: KubeSettings): ClusterAccess {
  const server = namedServer(settings, false);
  if (server === undefined) throw new NetplugError("invalidConfig", `read ${context.label}: it names no cluster`);
  return { ...BARE_ACCESS, server };
}

function find(config: Kubeconfig, kind: "context" | "cluster" | "user", name: string, namedBy?: Entry): KubeconfigEntry {
  const all = { context: config.contexts, cluster: config.clusters, user: config.users }[kind];
  const entry = all.get(name);
  if (entry !== undefined) return entry;
  const by = namedBy === undefined ? toWanted([...all.keys()]) : `, which ${namedBy.label} names`;
  throw new NetplugError("invalidConfig", `read ${config.label}: it has no ${kind} ${quote(name)}${by}`);
}

/** Names to choose from, for a message; a cloud's kubeconfig can have dozens. */
function toWanted(names: readonly string[]): string {
  if (names.length === 0) return "";
  return `, want ${toChoice([...names.slice(0, MAX_NAMED).map(quote), ...(names.length > MAX_NAMED ? ["another of it"] : [])])}`;
}

/** The server that settings name, which beats that of the cluster. */
function namedServer({ apiRoot, names }: KubeSettings, usesTls: boolean): string | undefined {
  return apiRoot === undefined ? undefined : normaliseApiRoot(apiRoot, usesTls, names?.apiRoot ?? "the API server's address");
}

function takeServer(cluster: Entry, usesTls: boolean): string {
  const server = takeText(cluster, "server");
  if (server === undefined) throw new NetplugError("invalidConfig", `read ${cluster.label}: it names no server`);
  return normaliseServer(server, usesTls, `server of ${cluster.label}`);
}

function takeNamespace(context: Entry): string | undefined {
  const namespace = takeText(context, "namespace");
  if (namespace === undefined || isDnsLabel(namespace)) return namespace;
  throw new NetplugError("invalidConfig", `read namespace of ${context.label}: got ${quote(namespace)}, want the name of a namespace`);
}

function takeProxy(cluster: Entry): string | undefined {
  const text = takeText(cluster, "proxy-url");
  if (text === undefined) return undefined;
  const url = URL.parse(text);
  const isOther = url !== null && isOtherIPv4(text, url);
  if (!isOther && (url?.protocol === "http:" || url?.protocol === "https:")) return text;
  const zeros = isOther ? ", IPv4 without leading zeros" : "";
  throw new NetplugError("invalidConfig", `read proxy-url of ${cluster.label}: want http://… or https://…${zeros}`);
}
