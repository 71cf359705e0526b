/**
 * A Deployment of 100 pods on one node, until all are Ready, by netplug on the Kubernetes API and by `ptp` with `host-local` in turns. By
 * itself: `bun test/bench/kubernetes-deployment.ts [turns]`, as root.
 */

import { startCluster } from "../cluster/support/cluster.ts";
import type { Cluster } from "../cluster/support/cluster.ts";
import { processorTimeOf } from "../support/daemons/process-status.ts";
import { eventually } from "../support/time/eventually.ts";
import { netplugOnKubernetes, ptpNetwork } from "../cluster/support/networks.ts";
import { createReplicas } from "../cluster/support/workload.ts";
import type { BenchRow } from "./row.ts";
import { round, summarize } from "./summary.ts";

const PODS = 100;
const SHIM = "containerd-shim";
const LIMIT = 1.25;
/** Of each network; one takes half a minute. */
const TURNS = 3;

const NETWORKS = {
  netplug: () => netplugOnKubernetes({ pools: ["10.65.0.0/16"] }),
  ptp: () => ptpNetwork(),
} as const;
type Name = keyof typeof NETWORKS;

/** One turn. */
interface Turn {
  /** Milliseconds until all pods are Ready. */
  readonly ms: number;
  /** Milliseconds of processor time of the shims, which do the same for both networks: it tells how quick the machine was meanwhile. */
  readonly shimMs: number;
}

/** A cluster for each turn: neither finds anything that the other has left. */
async function measure(name: Name): Promise<Turn> {
  await using cluster = await startCluster({ network: NETWORKS[name](), isDurable: true });
  await cluster.kubectl(["wait", "--for=create", "serviceaccount/default", "--timeout=30s"]);
  await deploy(cluster, "first", 1); // what the first pod of a node pays for
  const before = processorTimeOf(SHIM);
  const ms = await deploy(cluster, "web", PODS);
  const shimMs = processorTimeOf(SHIM) - before;
  console.error(
    `  ${name}: ${PODS} pods Ready after ${(ms / 1000).toFixed(1)} s, of which their shims worked ${(shimMs / 1000).toFixed(1)} s`,
  );
  return { ms, shimMs };
}

async function deploy(cluster: Cluster, app: string, replicas: number): Promise<number> {
  const started = performance.now();
  await createReplicas(cluster, "Deployment", app, replicas);
  await eventually(() => cluster.kubectl(["rollout", "status", `deployment/${app}`, "--timeout=300s"]));
  return performance.now() - started;
}

/** @param turns of each network */
export async function benchDeployment(turns = TURNS): Promise<readonly BenchRow[]> {
  const of: Record<Name, Turn[]> = { netplug: [], ptp: [] };
  for (let turn = 0; turn < turns; turn++) {
    const order: readonly Name[] = turn % 2 === 0 ? ["ptp", "netplug"] : ["netplug", "ptp"];
    for (const name of order) of[name].push(await measure(name));
  }
  const time = compare(of, ({ ms }) => ms / 1000);
  const work = compare(of, ({ ms, shimMs }) => ms / shimMs);
  return [
    {
      what: `a Deployment of ${PODS} pods on one node, until all are Ready`,
      target: `≤ ${LIMIT} × the time with ptp + host-local`,
      measured: time.toText(),
      met: time.figures.ratio <= LIMIT,
      figures: time.figures,
    },
    {
      what: "the same for each second that the pods' shims work, which tells how quick the machine was in each turn",
      target: "reported",
      measured: work.toText(),
      met: undefined,
      figures: work.figures,
    },
  ];
}

/** Medians of both. */
function compare(of: Readonly<Record<Name, readonly Turn[]>>, value: (turn: Turn) => number) {
  const [netplug, ptpHostLocal] = [summarize(of.netplug.map(value)), summarize(of.ptp.map(value))];
  const ratio = round(netplug.p50 / ptpHostLocal.p50);
  return {
    figures: { netplug, ptpHostLocal, ratio },
    toText: (): string => `${ratio} × (${netplug.p50.toFixed(1)} s against ${ptpHostLocal.p50.toFixed(1)} s)`,
  };
}

if (import.meta.main) console.log(JSON.stringify(await benchDeployment(Number(process.argv[2] ?? TURNS)), undefined, 2));
