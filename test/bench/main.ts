/** Runs every benchmark inside the namespace that `npm run bench` made, and prints the rows as JSON on stdout. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { canStartApiServer } from "../support/servers/api-server.ts";
import { canStartCluster } from "../cluster/support/cluster.ts";
import { startEtcd } from "../support/servers/etcd.ts";
import { TestNode } from "../support/node/test-node.ts";
import { benchBurst, benchOneByOne } from "./etcd.ts";
import { benchBlockRecord } from "./ipam-block-record.ts";
import { benchManyNodes } from "./ipam-many-nodes.ts";
import { benchSecondPool } from "./ipam-second-pool.ts";
import { benchKubernetes } from "./kubernetes.ts";
import { benchDeployment } from "./kubernetes-deployment.ts";
import type { BenchRow } from "./row.ts";
import { benchStart } from "./start.ts";

const rounds = Number(process.argv[2] ?? "100");

async function runAll(): Promise<readonly BenchRow[]> {
  const folder = mkdtempSync(join(tmpdir(), "bench-"));
  const rows: BenchRow[] = [];
  const section = async (name: string, work: () => Promise<readonly BenchRow[]>): Promise<void> => {
    const started = performance.now();
    rows.push(...(await work()));
    console.error(`  ${name} (${((performance.now() - started) / 1000).toFixed(1)} s)`);
  };
  try {
    await section("start", async () => await benchStart(folder, rounds));
    {
      await using node = await TestNode.start();
      await section("one by one", async () => await benchOneByOne(node, rounds));
    }
    {
      await using node = await TestNode.start();
      await section("burst", async () => await benchBurst(node));
    }
    if (canStartApiServer()) await section("on the Kubernetes API", async () => await benchKubernetes(rounds));
    else console.error("  on the Kubernetes API: left out; `npm run cluster -- build` builds the API server (with Go)");
    if (canStartCluster()) await section("a Deployment on one kubelet", async () => await benchDeployment());
    else console.error("  a Deployment on one kubelet: left out; `npm run cluster -- build` builds the cluster (with Go)");
    await section("the record of a block", async () => [benchBlockRecord()]);
    await section("many nodes", async () => [await onEmptyEtcd(benchManyNodes)]);
    await section("the second pool", async () => [await onEmptyEtcd(benchSecondPool)]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return rows;
}

async function onEmptyEtcd(bench: (endpoint: string) => Promise<BenchRow>): Promise<BenchRow> {
  await using etcd = await startEtcd();
  return await bench(etcd.endpoint);
}

console.log(JSON.stringify(await runAll()));
