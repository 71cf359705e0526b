/** What an installation is told: options, then the environment, then defaults. */

import type { EtcdConfig } from "../../datastore/config/datastore-config.ts";
import { checkEtcdConfig, datastoreSettingsOfEnvironment, parseEndpoints, variableOf } from "../../datastore/config/datastore-settings.ts";
import { renameSettings } from "../../datastore/config/rename-settings.ts";
import { isNodeName, NODE_NAME } from "../../endpoint/names.ts";
import type { KubeSettings } from "../../kube/access/access.ts";
import { toServerUrl } from "../../kube/access/server-url.ts";
import { NetplugError } from "../../lib/errors.ts";
import { LOG_LEVELS, type LogLevel } from "../../lib/log/log.ts";
import { ETH_MAX_MTU, ETH_MIN_MTU } from "../../linux/netlink/constants.ts";
import type { Options } from "./command-line.ts";
import { readConfName, readFileName } from "./file-names.ts";
import { type Environment, fault, readDuration, readFlag, readNumber, readPath, readText, readChoice, withoutSlash } from "./variables.ts";

/** Where manifests mount the host's folders. */
export const DEFAULT_FOLDERS = { bin: "/host/opt/cni/bin", conf: "/host/etc/cni/net.d" } as const;

/** The account that the plugin acts as, as `manifests/rbac.yaml` names it. */
export const DEFAULT_ACCOUNT = { namespace: "kube-system", name: "netplug-cni-plugin" } as const;

/** What says where the API server is. */
export const HOW_TO_FIND = "set KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT, or KUBECONFIG";

/** How other roles log in to etcd. Here certificates come from {@link Settings.tlsAssetsDir}, and a password belongs in a template. */
const OF_OTHER_ROLES = ["ETCD_CA_CERT_FILE", "ETCD_CERT_FILE", "ETCD_KEY_FILE", "ETCD_USERNAME", "ETCD_PASSWORD"] as const;

/** How the network config lets the plugin log. The installer itself only looks whether `level` is DEBUG. */
interface LogSettings {
  readonly level: LogLevel;
  readonly path: string;
  /** Megabytes. */
  readonly maxSize: number;
  /** Days. */
  readonly maxAge: number;
  readonly maxCount: number;
}

/** A network config with placeholders: its text, or the file that holds it. */
export type Template = { readonly text: string } | { readonly path: string };

/** What {@link readSettings} makes of options and environment: checked before anything on the node is changed. */
export interface Settings {
  /** Undefined: the default, which must have been mounted. */
  readonly binDir: string | undefined;
  readonly confDir: string | undefined;
  /** The config folder as the host sees it: for paths written into files. */
  readonly hostConfDir: string;
  readonly isOnce: boolean;
  readonly removesOnStop: boolean;
  /** Path of the file that says whether the node is ready; undefined: nobody asks. */
  readonly stateFile: string | undefined;
  /** Milliseconds after which a token is renewed, unless its life wants it earlier. */
  readonly tokenRefreshMs: number;
  readonly confName: string;
  /** Removed when the new one is in place, unless it is the new one. */
  readonly oldConfName: string | undefined;
  readonly template: Template | undefined;
  readonly skippedBinaries: readonly string[];
  /** Whether executables that are there are replaced. */
  readonly updatesBinaries: boolean;
  readonly tlsAssetsDir: string;
  readonly mtu: number;
  readonly requiresMtuFile: boolean;
  readonly log: LogSettings;
  readonly datastoreType: "etcdv3" | "kubernetes";
  readonly etcdEndpoints: readonly string[];
  readonly etcdDiscoverySrv: string | undefined;
  readonly nodeName: string | undefined;
  readonly service: { readonly protocol: string; readonly host: string | undefined; readonly port: string | undefined };
  /** How the API server is reached; undefined: none is known. */
  readonly kube: KubeSettings | undefined;
  readonly skipsTlsVerify: boolean;
  /** Name of the plugin's service account. */
  readonly account: string;
  /** Names of variables that are set, and that only other roles read. */
  readonly unusedVariables: readonly string[];
}

/** @throws NetplugError invalidConfig naming variable, found and wanted */
export function readSettings(options: Options, env: Environment): Settings {
  const templatePath = readPath(env, "CNI_NETWORK_CONFIG_FILE");
  // A byte order mark, which some editors write, is no part of the JSON, as in a file.
  const templateText = readText(env, "CNI_NETWORK_CONFIG")?.replace(/^\ufeff/, "");
  const template = templatePath !== undefined ? { path: templatePath } : templateText !== undefined ? { text: templateText } : undefined;
  const service = readService(env);
  return {
    binDir: options.binDir,
    confDir: options.confDir,
    hostConfDir: withoutSlash(readPath(env, "CNI_NET_DIR") ?? "/etc/cni/net.d"),
    // The variable first: with --once, too, a malformed one is refused.
    isOnce: !readFlag(env, "SLEEP", true) || options.isOnce,
    removesOnStop: readFlag(env, "REMOVE_ON_STOP", false),
    stateFile: readPath(env, "STATE_FILE"),
    tokenRefreshMs: readDuration(env, "CNI_TOKEN_REFRESH_INTERVAL") ?? Infinity,
    confName: readConfName(env, template === undefined),
    oldConfName: readFileName(env, "CNI_OLD_CONF_NAME"),
    template,
    skippedBinaries: splitList(readText(env, "SKIP_CNI_BINARIES") ?? ""),
    updatesBinaries: readFlag(env, "UPDATE_CNI_BINARIES", true),
    tlsAssetsDir: withoutSlash(readPath(env, "TLS_ASSETS_DIR") ?? "/netplug-secrets"),
    mtu: readMtu(env),
    requiresMtuFile: readFlag(env, "REQUIRE_MTU_FILE", false),
    log: {
      level: readChoice(env, "LOG_LEVEL", LOG_LEVELS) ?? "INFO",
      path: readPath(env, "LOG_FILE_PATH") ?? "/var/log/netplug/cni/cni.log",
      maxSize: readNumber(env, "LOG_FILE_MAX_SIZE", 1_000_000) ?? 100,
      maxAge: readNumber(env, "LOG_FILE_MAX_AGE", 36_500) ?? 30,
      maxCount: readNumber(env, "LOG_FILE_MAX_COUNT", 100_000) ?? 10,
    },
    ...readDatastore(env),
    nodeName: readNodeName(env),
    service,
    kube: toKubeSettings(env, service),
    skipsTlsVerify: readFlag(env, "SKIP_TLS_VERIFY", false),
    account: readText(env, "NETPLUG_CNI_SERVICE_ACCOUNT") ?? DEFAULT_ACCOUNT.name,
    unusedVariables: OF_OTHER_ROLES.flatMap((name) => [name, `NETPLUG_${name}`]).filter((name) => readText(env, name) !== undefined),
  };
}

type DatastorePart = Pick<Settings, "datastoreType" | "etcdEndpoints" | "etcdDiscoverySrv">;

function readDatastore(env: Environment): DatastorePart {
  const { datastoreType = "etcdv3", etcdEndpoints = "", etcdDiscoverySrv } = datastoreSettingsOfEnvironment(env);
  if (datastoreType !== "etcdv3" && datastoreType !== "kubernetes")
    throw fault(variableOf("datastoreType", env) ?? "DATASTORE_TYPE", datastoreType, '"etcdv3" or "kubernetes"');
  const endpoints = parseEndpoints(etcdEndpoints, variableOf("etcdEndpoints", env));
  const discovery = etcdDiscoverySrv === undefined ? {} : { discoverySrv: etcdDiscoverySrv };
  if (datastoreType === "etcdv3") checkEtcd({ endpoints, ...discovery }, env);
  return { datastoreType, etcdEndpoints: endpoints, etcdDiscoverySrv };
}

/** @throws NetplugError invalidConfig naming variables */
function checkEtcd(config: EtcdConfig, env: Environment): void {
  try {
    checkEtcdConfig(config);
  } catch (thrown) {
    throw thrown instanceof NetplugError ? renameSettings(thrown, (name) => variableOf(name, env)) : thrown;
  }
}

function readService(env: Environment): Settings["service"] {
  const host = readText(env, "KUBERNETES_SERVICE_HOST");
  const port = readText(env, "KUBERNETES_SERVICE_PORT");
  if ((host === undefined) !== (port === undefined)) {
    throw new NetplugError("invalidConfig", "read KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT: got one of them, want both or none");
  }
  return { protocol: readChoice(env, "KUBERNETES_SERVICE_PROTOCOL", ["https", "http"]) ?? "https", host, port };
}

function toKubeSettings(env: Environment, service: Settings["service"]): KubeSettings | undefined {
  const { kubeconfig, k8sAPIEndpoint, k8sAPIToken: token, k8sCAFile: caFile } = datastoreSettingsOfEnvironment(env);
  // A kubeconfig says its own server.
  const apiRoot = k8sAPIEndpoint ?? (kubeconfig === undefined ? toServiceUrl(service) : undefined);
  if (kubeconfig === undefined && apiRoot === undefined) return undefined;
  const names = {
    apiRoot: variableOf("k8sAPIEndpoint", env) ?? "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT",
    token: variableOf("k8sAPIToken", env),
    caFile: variableOf("k8sCAFile", env),
  };
  return { kubeconfig, apiRoot, token, caFile, names };
}

/** @returns undefined when nothing says it */
function toServiceUrl({ protocol, host, port }: Settings["service"]): string | undefined {
  if (host === undefined || port === undefined) return undefined;
  // In a URL what follows would be its path, and the API server looked for elsewhere.
  const hasMore = (text: string): boolean => /[/?#\\]/.test(text);
  if (hasMore(host)) throw fault("KUBERNETES_SERVICE_HOST", host, "a host name or an IP address");
  if (hasMore(port)) throw fault("KUBERNETES_SERVICE_PORT", port, "a port number");
  return toServerUrl(host, port).replace(/^https/, protocol);
}

function readMtu(env: Environment): number {
  const mtu = readNumber(env, "CNI_MTU", ETH_MAX_MTU) ?? 0;
  const wanted = `${ETH_MIN_MTU}..${ETH_MAX_MTU}, or 0 to let the plugin find out`;
  if (mtu !== 0 && mtu < ETH_MIN_MTU) throw fault("CNI_MTU", String(mtu), wanted);
  return mtu;
}

/** The plugin would refuse any other, one pod after the other. */
function readNodeName(env: Environment): string | undefined {
  const name = readText(env, "KUBERNETES_NODE_NAME");
  if (name !== undefined && !isNodeName(name)) throw fault("KUBERNETES_NODE_NAME", name, NODE_NAME);
  return name;
}

function splitList(text: string): readonly string[] {
  return text
    .split(",")
    .map((piece) => piece.trim())
    .filter((piece) => piece !== "");
}
