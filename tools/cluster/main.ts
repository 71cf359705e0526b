/** `npm run cluster`: the cluster of the tests, for a person. */

import { startApiServer } from "../../test/cluster/api-server.ts";
import {
  API_SERVER_PROGRAMS,
  CLUSTER_PROGRAMS,
  clusterProgram,
  ensureClusterPrograms,
  goForCluster,
} from "../prerequisites/cluster-programs.ts";
import type { ClusterProgram } from "../prerequisites/cluster-programs.ts";
import { bold, say, since, TaskFailure } from "../terminal.ts";

const USAGE = `npm run cluster -- build: builds everything that a cluster needs, minutes the first time
npm run cluster -- api:   kube-apiserver and etcd only`;

/** The task. */
export async function runCluster(args: readonly string[]): Promise<number> {
  const [command] = args;
  if (command === "build") {
    await ensurePrograms(CLUSTER_PROGRAMS);
    return 0;
  }
  if (command === "api") return await playWithApiServer();
  throw new TaskFailure(`cluster: got "${args.join(" ")}", want one of these:\n${USAGE}`);
}

async function ensurePrograms(names: readonly ClusterProgram[]): Promise<void> {
  if (await ensureClusterPrograms(names)) return;
  throw new TaskFailure(`a cluster is built from Go modules, which needs ${goForCluster()} on PATH or in /usr/local/go`);
}

async function playWithApiServer(): Promise<number> {
  await ensurePrograms(API_SERVER_PROGRAMS);
  const started = performance.now();
  await using api = await startApiServer();
  say(`${bold("kube-apiserver")} at ${api.url} (${since(started)}); without nodes, nothing runs the pods`);
  say(`  export KUBECONFIG=${api.kubeconfigFile}`);
  say(`  ${clusterProgram("kubectl")} get namespaces`);
  say("Ctrl-C ends it and removes its files");
  await untilInterrupted();
  return 0;
}

async function untilInterrupted(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const done = (): void => resolve();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, done);
  // nothing else keeps the process alive
  const timer = setInterval(() => undefined, 60_000);
  await promise;
  clearInterval(timer);
}
