/** Advice when the datastore does not answer: where we looked, which setting says so, and what else to try. */

import {
  DEFAULT_ETCD_ENDPOINT,
  type DatastoreConfig,
  type EtcdConfig,
  type KubernetesConfig,
} from "../../datastore/config/datastore-config.ts";
import { EtcdFailure } from "../../datastore/etcd/protocol/failure.ts";
import { normaliseApiRoot } from "../../kube/access/server-url.ts";
import { KubeError, type KubeReason } from "../../kube/kube-error.ts";
import type { NetplugError } from "../../lib/errors.ts";
import { quote } from "../../lib/quote.ts";
import { toFileWord, toWord } from "../failures/suggested-commands.ts";
import type { Cli } from "../io.ts";
import { originOf } from "./setting-origin.ts";

/** What is said besides the failure. */
export interface Advice {
  readonly text: string;
  /** A command line that finds out more without us. */
  readonly next?: string;
}

/** Reasons that have to do with the server and the way to it, and not with what it was asked. */
const KUBE_REASONS: ReadonlySet<KubeReason> = new Set(["unreachable", "untrusted", "lost", "serverFault", "unexpected"]);

/** Seconds after which nobody waits any longer. */
const LIMIT = 5;

/** @returns undefined for a failure that has nothing to do with where we looked */
export function adviceFor(failure: NetplugError, config: DatastoreConfig, cli: Cli): Advice | undefined {
  if (config.type === "etcdv3") return isEtcdAway(failure, config.etcd) ? adviceForEtcd(config.etcd, cli) : undefined;
  if (failure.kind === "invalidConfig")
    return adviceForKubeconfig(failure, config.kubernetes, cli) ?? adviceWithoutKubeconfig(config.kubernetes, cli);
  return failure instanceof KubeError && KUBE_REASONS.has(failure.reason) ? adviceForKubernetes(config.kubernetes, cli) : undefined;
}

function isEtcdAway({ cause, retriable }: NetplugError, { discoverySrv }: EtcdConfig): boolean {
  if (cause instanceof EtcdFailure) return retriable || cause.reason !== "refused";
  return retriable && discoverySrv !== undefined && cause === undefined;
}

function adviceForEtcd({ endpoints, discoverySrv, caCertFile, certFile, keyFile }: EtcdConfig, cli: Cli): Advice {
  if (discoverySrv !== undefined) {
    const text = `etcd of the domain ${quote(discoverySrv)}, as ${originOf("etcdDiscoverySrv", cli)} says`;
    return { text, next: `dig +short SRV ${toWord(`_etcd-client._tcp.${discoverySrv}`)}` };
  }
  const curl = (endpoint: string): string => toCurl(`${endpoint}/health`, { cacert: caCertFile, cert: certFile, key: keyFile });
  const [first] = endpoints;
  if (first !== undefined) return { text: `etcd at ${endpoints.join(", ")}, as ${originOf("etcdEndpoints", cli)} says`, next: curl(first) };
  // etcd's default address is tried: "connection refused" alone does not help a person who forgot to name it.
  return {
    text: "nobody said where the datastore is: set ETCD_ENDPOINTS, or for Kubernetes DATASTORE_TYPE=kubernetes, --kubeconfig or --context",
    next: curl(DEFAULT_ETCD_ENDPOINT),
  };
}

function adviceForKubernetes({ kubeconfig, defaultKubeconfig, apiRoot, caFile, context }: KubernetesConfig, cli: Cli): Advice {
  if (kubeconfig === undefined && apiRoot !== undefined) {
    const next = toCurl(`${normaliseApiRoot(apiRoot, caFile !== undefined, "the API server's address")}/readyz`, { cacert: caFile });
    return { text: `the API server at ${quote(apiRoot)}, as ${originOf("k8sAPIEndpoint", cli)} says`, next };
  }
  const kubectl = [
    "kubectl",
    ...(context === undefined ? [] : ["--context", toWord(context)]),
    "get --raw /readyz",
    `--request-timeout=${LIMIT}s`,
  ];
  const where = context === undefined ? "the API server" : `the API server of context ${quote(context)}`;
  if (kubeconfig !== undefined) {
    const next = [`KUBECONFIG=${toFileWord(kubeconfig)}`, ...kubectl].join(" ");
    return { text: `${where} in kubeconfig ${quote(kubeconfig)}, as ${originOf("kubeconfig", cli)} says`, next };
  }
  if (defaultKubeconfig !== undefined && cli.io.files.exists(defaultKubeconfig))
    return { text: `${where} in kubeconfig ${quote(defaultKubeconfig)}, the default`, next: kubectl.join(" ") };
  return { text: "the API server of this pod, as KUBERNETES_SERVICE_HOST says" };
}

/** Something in a kubeconfig, or its absence. */
function adviceForKubeconfig(
  { message }: NetplugError,
  { kubeconfig, defaultKubeconfig, apiRoot }: KubernetesConfig,
  cli: Cli,
): Advice | undefined {
  if (!/\bkubeconfig "/.test(message)) return undefined;
  if (kubeconfig !== undefined) {
    const stdin = kubeconfig === "-" ? "; - is a file there, and stdin is /dev/stdin" : "";
    return { text: `the kubeconfig is the one that ${originOf("kubeconfig", cli)} names${stdin}` };
  }
  return apiRoot === undefined && defaultKubeconfig !== undefined ? { text: "the kubeconfig is the default one" } : undefined;
}

/** A kubeconfig that nobody named and that is not there; undefined where the fault is another. */
function adviceWithoutKubeconfig(
  { kubeconfig, apiRoot, defaultKubeconfig }: KubernetesConfig,
  { io: { files, env } }: Cli,
): Advice | undefined {
  if (kubeconfig !== undefined || apiRoot !== undefined || (env["KUBERNETES_SERVICE_HOST"] ?? "") !== "") return undefined;
  if (defaultKubeconfig !== undefined && files.exists(defaultKubeconfig)) return undefined;
  const otherwise = defaultKubeconfig === undefined ? "" : `; there is no ${quote(defaultKubeconfig)}`;
  return { text: `name a kubeconfig: --kubeconfig FILE, or KUBECONFIG${otherwise}` };
}

/** Which setting chose etcd, or its endpoints. */
export function originOfEtcd({ endpoints, discoverySrv }: EtcdConfig, cli: Cli): string {
  return originOf(endpoints.length > 0 ? "etcdEndpoints" : discoverySrv === undefined ? "datastoreType" : "etcdDiscoverySrv", cli);
}

function toCurl(url: string, files: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(files).flatMap(([option, file]) => (file === undefined ? [] : [`--${option}`, toFileWord(file)]));
  return ["curl -sS", `-m ${LIMIT}`, ...given, toWord(url)].join(" ");
}
