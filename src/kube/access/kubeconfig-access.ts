/** What one context of a kubeconfig comes down to. */

import { hasControlCharacter, isDnsLabel } from "../../lib/characters.ts";
import { NetplugError } from "../../lib/errors.ts";
import { isJsonObject } from "../../lib/json.ts";
import { quote } from "../../lib/quote.ts";
import type { ExecPlugin, Impersonation, KubeAccess, KubeSettings, PemSource, UserAccess } from "./access.ts";
import { ANONYMOUS } from "./access.ts";
import { takeEntry, takeFlag, takeList, takeText, takeTexts } from "./fields.ts";
import type { Entry } from "./fields.ts";
import type { Kubeconfig, KubeconfigEntry } from "./kubeconfig.ts";
import { normaliseApiRoot, normaliseServer } from "./server-url.ts";

/** Extension of a cluster's entry that is meant for its users' exec plugins. */
const EXEC_EXTENSION = "client.authentication.k8s.io/exec";

/** How many names an error offers. */
const MOST_NAMED = 5;

const EXEC_VERSIONS: readonly string[] = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"];

/**
 * Reads the context that settings name, or the current one, with its cluster and its user.
 *
 * @throws NetplugError invalidConfig naming file and entry
 */
export function toKubeconfigAccess(config: Kubeconfig, { context: wanted, apiRoot }: KubeSettings): KubeAccess {
  const name = wanted ?? config.currentContext;
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
    server: toServer(cluster, context, apiRoot, skipsTlsVerify || ca !== undefined),
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
  return `, want ${names.slice(0, MOST_NAMED).map(quote).join(" or ")}${names.length > MOST_NAMED ? ", or another of it" : ""}`;
}

function toServer(cluster: Entry | undefined, context: Entry, apiRoot: string | undefined, usesTls: boolean): string {
  if (apiRoot !== undefined) return normaliseApiRoot(apiRoot, usesTls, "the API server's address");
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

/** `<name>-data` is base64 of PEM and beats the file that `<name>` names. */
function takePem(entry: KubeconfigEntry, name: string): PemSource | undefined {
  const data = takeText(entry, `${name}-data`);
  if (data !== undefined) {
    const label = `${name}-data of ${entry.label}`;
    return { text: decodeBase64(data, label), label };
  }
  const named = takeText(entry, name);
  if (named === undefined) return undefined;
  const file = resolvePath(named, entry);
  return { file, label: `${name} ${quote(file)} of ${entry.label}` };
}

function decodeBase64(text: string, label: string): string {
  try {
    return atob(text);
  } catch {
    throw new NetplugError("invalidConfig", `read ${label}: it is no base64`);
  }
}

/** Relative paths begin at the folder of the file that they stand in. */
function resolvePath(path: string, { path: origin }: KubeconfigEntry): string {
  return path.startsWith("/") ? path : `${origin.slice(0, origin.lastIndexOf("/") + 1)}${path}`;
}

function takeProxy(cluster: Entry): string | undefined {
  const text = takeText(cluster, "proxy-url");
  if (text === undefined) return undefined;
  const protocol = URL.parse(text)?.protocol;
  if (protocol === "http:" || protocol === "https:") return text;
  throw new NetplugError("invalidConfig", `read proxy-url of ${cluster.label}: want http://… or https://…`);
}

function toUserAccess(user: KubeconfigEntry, cluster: KubeconfigEntry | undefined): UserAccess {
  const tokenFile = takeText(user, "tokenFile");
  const username = takeText(user, "username");
  const password = takeText(user, "password");
  if (takeEntry(user, "auth-provider") !== undefined) {
    throw new NetplugError("invalidConfig", `read ${user.label}: auth-provider is not supported any more; use an exec plugin`);
  }
  const clientCertificate = takePem(user, "client-certificate");
  const clientKey = takePem(user, "client-key");
  if ((clientCertificate === undefined) !== (clientKey === undefined)) {
    throw new NetplugError("invalidConfig", `read ${user.label}: want client-certificate and client-key together`);
  }
  return {
    clientCertificate,
    clientKey,
    token: takeText(user, "token"),
    tokenFile: tokenFile === undefined ? undefined : resolvePath(tokenFile, user),
    basic: username === undefined && password === undefined ? undefined : { username: username ?? "", password: password ?? "" },
    exec: toExecPlugin(user, cluster),
    impersonate: toImpersonation(user),
  };
}

function toExecPlugin(user: KubeconfigEntry, cluster: KubeconfigEntry | undefined): ExecPlugin | undefined {
  const exec = takeEntry(user, "exec");
  if (exec === undefined) return undefined;
  const command = takeText(exec, "command");
  const apiVersion = takeText(exec, "apiVersion");
  if (command === undefined) throw new NetplugError("invalidConfig", `read ${exec.label}: it has no command`);
  if (apiVersion === undefined || !EXEC_VERSIONS.includes(apiVersion)) {
    const got = apiVersion === undefined ? "none" : quote(apiVersion);
    throw new NetplugError("invalidConfig", `read apiVersion of ${exec.label}: got ${got}, want ${EXEC_VERSIONS.map(quote).join(" or ")}`);
  }
  return {
    command: command.includes("/") ? resolvePath(command, user) : command,
    args: takeTexts(exec, "args"),
    env: takeList(exec, "env").map((value) => toVariable(value, `env of ${exec.label}`)),
    apiVersion,
    providesClusterInfo: takeFlag(exec, "provideClusterInfo"),
    clusterConfig: cluster === undefined ? undefined : findExecExtension(cluster),
    isInteractive: takeText(exec, "interactiveMode") === "Always",
    installHint: takeText(exec, "installHint"),
  };
}

function toVariable(fields: unknown, label: string): { readonly name: string; readonly value: string } {
  const entry = isJsonObject(fields) ? { fields, label } : undefined;
  const name = entry === undefined ? undefined : takeText(entry, "name");
  if (entry === undefined || name === undefined) throw new NetplugError("invalidConfig", `read ${label}: want objects with name and value`);
  return { name, value: takeText(entry, "value") ?? "" };
}

function findExecExtension(cluster: Entry): unknown {
  const found = takeList(cluster, "extensions").find((value) => isJsonObject(value) && value["name"] === EXEC_EXTENSION);
  return isJsonObject(found) ? found["extension"] : undefined;
}

/** One group at most: `fetch` joins headers of the same name, and the API server would take that for one group. */
function toImpersonation(user: Entry): Impersonation | undefined {
  const name = takeHeaderText(user, "as");
  if (name === undefined) return undefined;
  const groups = takeTexts(user, "as-groups");
  if (groups.length > 1 || takeEntry(user, "as-user-extra") !== undefined) {
    throw new NetplugError("invalidConfig", `read ${user.label}: want one entry in as-groups at most, and no as-user-extra`);
  }
  const [group] = groups;
  if (group !== undefined) requireHeaderText(group, "as-groups", user);
  return { user: name, uid: takeHeaderText(user, "as-uid"), group };
}

function takeHeaderText(user: Entry, name: string): string | undefined {
  const text = takeText(user, name);
  if (text !== undefined) requireHeaderText(text, name, user);
  return text;
}

function requireHeaderText(text: string, name: string, { label }: Entry): void {
  if (hasControlCharacter(text))
    throw new NetplugError("invalidConfig", `read ${name} of ${label}: got ${quote(text)}, want it without control characters`);
}
