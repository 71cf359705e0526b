/** What one context of a kubeconfig comes down to. */

import { isDnsLabel } from "../../lib/characters.ts";
import { NetplugError } from "../../lib/errors.ts";
import { quote } from "../../lib/quote.ts";
import type { KubeAccess, KubeSettings } from "./access.ts";
import { ANONYMOUS } from "./access.ts";
import { takeFlag, takeText } from "./fields.ts";
import type { Entry } from "./fields.ts";
import type { Kubeconfig, KubeconfigEntry } from "./kubeconfig.ts";
import { toUserAccess } from "./kubeconfig-user.ts";
import { takePem } from "./named-files.ts";
import { normaliseApiRoot, normaliseServer } from "./server-url.ts";

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
  const ca = cluster === undefined ? undefined : takePem(cluster, "certificate-authority");
  const skipsTlsVerify = cluster !== undefined && takeFlag(cluster, "insecure-skip-tls-verify");
  if (skipsTlsVerify && ca !== undefined) {
    throw new NetplugError("invalidConfig", `read ${cluster.label}: insecure-skip-tls-verify and certificate-authority exclude each other`);
  }
  return {
    server: toServer(cluster, context, settings, skipsTlsVerify || ca !== undefined),
    ca,
    skipsTlsVerify,
    tlsServerName: cluster === undefined ? undefined : takeText(cluster, "tls-server-name"),
    proxyUrl: cluster === undefined ? undefined : takeProxy(cluster),
    user: user === undefined ? ANONYMOUS : toUserAccess(user, cluster),
    namespace: takeNamespace(context),
    origin: user?.label ?? context.label,
  };
}

function find(config: Kubeconfig, kind: "context" | "cluster" | "user", name: string, namedBy?: Entry): KubeconfigEntry {
  const all = { context: config.contexts, cluster: config.clusters, user: config.users }[kind];
  const entry = all.get(name);
  if (entry !== undefined) return entry;
  const by = namedBy === undefined ? toChoice([...all.keys()]) : `, which ${namedBy.label} names`;
  throw new NetplugError("invalidConfig", `read ${config.label}: it has no ${kind} ${quote(name)}${by}`);
}

/** Names to choose from, for a message; a cloud's kubeconfig can have dozens. */
function toChoice(names: readonly string[]): string {
  if (names.length === 0) return "";
  return `, want ${names.slice(0, MAX_NAMED).map(quote).join(" or ")}${names.length > MAX_NAMED ? ", or another of it" : ""}`;
}

function toServer(cluster: Entry | undefined, context: Entry, { apiRoot, names }: KubeSettings, usesTls: boolean): string {
  if (apiRoot !== undefined) return normaliseApiRoot(apiRoot, usesTls, names?.apiRoot ?? "the API server's address");
  const server = cluster === undefined ? undefined : takeText(cluster, "server");
  if (server !== undefined && cluster !== undefined) return normaliseServer(server, usesTls, `server of ${cluster.label}`);
  throw new NetplugError(
    "invalidConfig",
    `read ${(cluster ?? context).label}: it names no ${cluster === undefined ? "cluster" : "server"}`,
  );
}

function takeNamespace(context: Entry): string | undefined {
  const namespace = takeText(context, "namespace");
  if (namespace === undefined || isDnsLabel(namespace)) return namespace;
  throw new NetplugError("invalidConfig", `read namespace of ${context.label}: got ${quote(namespace)}, want the name of a namespace`);
}

function takeProxy(cluster: Entry): string | undefined {
  const text = takeText(cluster, "proxy-url");
  if (text === undefined) return undefined;
  const protocol = URL.parse(text)?.protocol;
  if (protocol === "http:" || protocol === "https:") return text;
  throw new NetplugError("invalidConfig", `read proxy-url of ${cluster.label}: want http://… or https://…`);
}
