/** What the arguments of `npm run cluster` ask for. */

import { TaskFailure } from "../terminal.ts";

const NETWORKS = ["netplug", "ptp"] as const;
const MOST_NODES = 20;

export type ClusterOrder =
  | { readonly command: "help" | "build" | "api" }
  | { readonly command: "start"; readonly nodes: number; readonly network: (typeof NETWORKS)[number] };

export const CLUSTER_USAGE = `npm run cluster -- [--nodes=N] [--network=${NETWORKS.join("|")}]
                          a whole cluster; one node with netplug unless told otherwise
npm run cluster -- api    kube-apiserver and etcd only
npm run cluster -- build  builds everything that a cluster needs, minutes the first time`;

/** @throws TaskFailure with the usage */
export function parseClusterOrder(args: readonly string[]): ClusterOrder {
  const [first] = args;
  if (first === "--help" || first === "help") return { command: "help" };
  if ((first === "build" || first === "api") && args.length === 1) return { command: first };
  const order = { command: "start" as const, nodes: 1, network: NETWORKS[0] as (typeof NETWORKS)[number] };
  for (const arg of args) {
    const [name, value = ""] = arg.split("=", 2);
    if (name === "--nodes") order.nodes = parseNodes(value);
    else if (name === "--network") order.network = parseNetwork(value);
    else throw new TaskFailure(`cluster: got "${arg}", want one of these:\n${CLUSTER_USAGE}`);
  }
  return order;
}

function parseNodes(value: string): number {
  if (/^\d{1,2}$/.test(value) && Number(value) >= 1 && Number(value) <= MOST_NODES) return Number(value);
  throw new TaskFailure(`cluster: --nodes: got "${value}", want 1..${MOST_NODES}`);
}

function parseNetwork(value: string): (typeof NETWORKS)[number] {
  const network = NETWORKS.find((name) => name === value);
  if (network === undefined) throw new TaskFailure(`cluster: --network: got "${value}", want ${NETWORKS.join(" or ")}`);
  return network;
}
