/** What the arguments of `npm run cluster` ask for. */

import { TaskFailure } from "../terminal.ts";

const NETWORKS = ["netplug", "ptp"] as const;
const DATASTORES = ["kubernetes", "etcdv3"] as const;
const MAX_NODES = 20;

/** CIDRs of the pools of a cluster with netplug, which are named `pool-0` and `pool-1`. The IPv6 pool is for pods that ask: `cni.netplug.io/ipFamilies`. */
export const CLUSTER_POOLS = ["10.65.0.0/16", "fd65::/112"] as const;

export type ClusterOrder = { readonly command: "build" | "api" } | ClusterStart;

/** A whole cluster. */
export interface ClusterStart {
  readonly command: "start";
  readonly nodes: number;
  readonly network: (typeof NETWORKS)[number];
  /** Of netplug. */
  readonly datastore: (typeof DATASTORES)[number];
}

export const CLUSTER_USAGE = `npm run cluster -- [--nodes=N] [--network=${NETWORKS.join("|")}] [--datastore=${DATASTORES.join("|")}]
npm run cluster -- api        kube-apiserver and etcd only
npm run cluster -- build      builds everything that a cluster needs, minutes the first time

  --nodes=N                   how many nodes, 1..${MAX_NODES} (1)
  --network=netplug|ptp       this plugin, or ptp and host-local of the CNI project to compare with (netplug)
  --datastore=kubernetes|etcdv3
                              where netplug keeps its addresses (kubernetes)

KUBERNETES_MODULE=test/older-kubernetes in the environment: the oldest Kubernetes that netplug supports`;

/** @throws TaskFailure with the usage */
export function parseClusterOrder(args: readonly string[]): ClusterOrder {
  const [first] = args;
  if ((first === "build" || first === "api") && args.length === 1) return { command: first };
  const order: { -readonly [Key in keyof ClusterStart]: ClusterStart[Key] } = {
    command: "start",
    nodes: 1,
    network: "netplug",
    datastore: "kubernetes",
  };
  const words = [...args];
  for (let arg = words.shift(); arg !== undefined; arg = words.shift()) {
    const [name, attached] = arg.split("=", 2);
    const value = attached ?? words.shift() ?? "";
    if (name === "--nodes") order.nodes = parseNodes(value);
    else if (name === "--network") order.network = parseWord(name, value, NETWORKS);
    else if (name === "--datastore") order.datastore = parseWord(name, value, DATASTORES);
    else throw new TaskFailure(`cluster: got "${arg}", want one of these:\n\n${CLUSTER_USAGE}`);
  }
  if (order.network === "ptp" && args.some((arg) => arg.startsWith("--datastore"))) {
    throw new TaskFailure("cluster: --datastore: it is netplug's, and with --network=ptp there is no netplug");
  }
  return order;
}

/** What netplugctl needs in the environment besides KUBECONFIG; the type as well, because a shell may still have that of another cluster. */
export function variablesFor({ network, datastore }: ClusterStart, etcdEndpoint: string): readonly string[] {
  if (network === "ptp") return [];
  return [`DATASTORE_TYPE=${datastore}`, ...(datastore === "etcdv3" ? [`ETCD_ENDPOINTS=${etcdEndpoint}`] : [])];
}

function parseNodes(value: string): number {
  if (/^\d{1,2}$/.test(value) && Number(value) >= 1 && Number(value) <= MAX_NODES) return Number(value);
  throw new TaskFailure(`cluster: --nodes: got "${value}", want 1..${MAX_NODES}`);
}

function parseWord<Word extends string>(option: string, value: string, words: readonly Word[]): Word {
  const word = words.find((one) => one === value);
  if (word === undefined) throw new TaskFailure(`cluster: ${option}: got "${value}", want ${words.join(" or ")}`);
  return word;
}
