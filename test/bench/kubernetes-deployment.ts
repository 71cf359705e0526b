/**
 * A Deployment of 100 pods on one node, until all are Ready, by netplug on the Kubernetes API and by `ptp` with `host-local` in turns. By
 * itself: `bun test/bench/kubernetes-deployment.ts [turns]`, as root.
 */

import { startCluster } from "../cluster/support/cluster.ts";
import type { Cluster } from "../cluster/support/cluster.ts";
import { eventually } from "../support/time/eventually.ts";
import { netplugOnKubernetes, ptpNetwork } from "../cluster/support/networks.ts";
import { createReplicas } from "../cluster/support/workload.ts";
import type { BenchRow } from "./row.ts";
import { round, summarize } from "./summary.ts";

const PODS = 100;
const LIMIT = 1.25;
/** Of each network; one takes half a minute. */
const TURNS = 3;

const NETWORKS = {
  netplug: () => netplugOnKubernetes({ pools: ["10.65.0.0/16"] }),
  ptp: () => ptpNetwork(),
} as const;
type Name = keyof typeof NETWORKS;

/** A cluster for each turn: neither finds anything that the other has left. */
async function measure(name: Name): Promise<number> {
  await using cluster = await startCluster({ network: NETWORKS[name](), isDurable: true });
  await cluster.kubectl(["wait", "--for=create", "serviceaccount/default", "--timeout=30s"]);
  await deploy(cluster, "first", 1); // what the first pod of a node pays for
  const ms = await deploy(cluster, "web", PODS);
  console.error(`  ${name}: ${PODS} pods Ready after ${(ms / 1000).toFixed(1)} s`);
  return ms;
}

async function deploy(cluster: Cluster, app: string, replicas: number): Promise<number> {
  const started = performance.now();
  await createReplicas(cluster, "Deployment", app, replicas);
  await eventually(() => cluster.kubectl(["rollout", "status", `deployment/${app}`, "--timeout=300s"]));
  return performance.now() - started;
}

/** @param turns of each network */
export async function benchDeployment(turns = TURNS): Promise<BenchRow> {
  const times: Record<Name, number[]> = { netplug: [], ptp: [] };
  for (let turn = 0; turn < turns; turn++) {
    const order: readonly Name[] = turn % 2 === 0 ? ["ptp", "netplug"] : ["netplug", "ptp"];
    for (const name of order) times[name].push(await measure(name));
  }
  const [netplug, ptpHostLocal] = [summarize(times.netplug), summarize(times.ptp)];
  const ratio = round(netplug.p50 / ptpHostLocal.p50);
  return {
    what: `a Deployment of ${PODS} pods on one node, until all are Ready`,
    target: `≤ ${LIMIT} × the time with ptp + host-local`,
    measured: `${ratio} × (${(netplug.p50 / 1000).toFixed(1)} s against ${(ptpHostLocal.p50 / 1000).toFixed(1)} s)`,
    met: ratio <= LIMIT,
    figures: { netplug, ptpHostLocal, ratio },
  };
}

if (import.meta.main) console.log(JSON.stringify(await benchDeployment(Number(process.argv[2] ?? TURNS)), undefined, 2));
