/** `npm run cluster`: the cluster of the tests, for a person. */

import { dirname, join } from "node:path";
import { startApiServer } from "../../test/cluster/api-server.ts";
import { BUSYBOX_IMAGE, startCluster } from "../../test/cluster/cluster.ts";
import type { ClusterOptions } from "../../test/cluster/cluster.ts";
import { netplugOnEtcd, netplugOnKubernetes, ptpNetwork } from "../../test/cluster/networks.ts";
import { build } from "../build.ts";
import {
  API_SERVER_PROGRAMS,
  CLUSTER_PROGRAMS,
  clusterProgram,
  ensureClusterPrograms,
  goForCluster,
} from "../prerequisites/cluster-programs.ts";
import type { ClusterProgram } from "../prerequisites/cluster-programs.ts";
import { repositoryRoot } from "../repository.ts";
import { bold, dim, say, since, TaskFailure } from "../terminal.ts";
import { CLUSTER_USAGE, parseClusterOrder } from "./order.ts";
import type { ClusterStart } from "./order.ts";

/** The task. */
export async function runCluster(args: readonly string[]): Promise<number> {
  const order = parseClusterOrder(args);
  switch (order.command) {
    case "help":
      say(CLUSTER_USAGE);
      return 0;
    case "build":
      await ensurePrograms(CLUSTER_PROGRAMS);
      return 0;
    case "api":
      return await playWithApiServer();
    case "start":
      return await playWithCluster(order);
  }
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
  sayHowToUse(api.kubeconfigFile, ["kubectl get namespaces"]);
  await untilInterrupted();
  return 0;
}

async function playWithCluster(order: ClusterStart): Promise<number> {
  const { nodes, network } = order;
  await ensurePrograms(CLUSTER_PROGRAMS);
  if (network === "netplug") build();
  const started = performance.now();
  say("starting etcd, kube-apiserver, kube-controller-manager, kube-scheduler, containerd, kubelet …");
  await using cluster = await startCluster({ nodes, network: networkOf(order) });
  if (network === "ptp") for (const node of cluster.nodes) cluster.route(cluster.podCidrsOf(node)[0], node);
  say(`${bold("cluster")} of ${nodes} node(s) at ${cluster.api.url}, network ${network} (${since(started)})`);
  sayHowToUse(cluster.api.kubeconfigFile, [
    "kubectl get nodes -o wide",
    `kubectl create deployment web --image=${BUSYBOX_IMAGE} --replicas=3`,
    "kubectl get pods -o wide",
    ...addressCommands(order, cluster.api.etcdEndpoint),
    ...cluster.nodes.map((node) => `nsenter -t ${node.init.pid ?? ""} -m -u -i -n -p -C sh   ${dim(`# a shell on ${node.name}`)}`),
  ]);
  say(`logs of every program: ${cluster.api.folder}/*.log, ${cluster.api.folder}/node-*/*.log`);
  await untilInterrupted();
  return 0;
}

function networkOf({ network, datastore }: ClusterStart): ClusterOptions["network"] {
  if (network === "ptp") return ptpNetwork();
  const pools = ["10.65.0.0/16"];
  return datastore === "etcdv3" ? netplugOnEtcd({ pools }) : netplugOnKubernetes({ pools });
}

/** What shows who has which address. */
function addressCommands({ network, datastore }: ClusterStart, etcdEndpoint: string): readonly string[] {
  if (network === "ptp") return [];
  return [
    datastore === "etcdv3"
      ? `ETCD_ENDPOINTS=${etcdEndpoint} netplugctl ipam show --show-blocks`
      : "kubectl netplug ipam show --show-blocks",
  ];
}

function sayHowToUse(kubeconfigFile: string, commands: readonly string[]): void {
  say("in another terminal:");
  say(`  export KUBECONFIG=${kubeconfigFile} PATH=${dirname(clusterProgram("kubectl"))}:${join(repositoryRoot, "dist")}:$PATH`);
  for (const command of commands) say(`  ${command}`);
  say("Ctrl-C ends it and removes everything that it made");
}

async function untilInterrupted(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const done = (): void => resolve();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, done);
  // nothing else keeps the process alive
  const timer = setInterval(() => undefined, 60_000);
  await promise;
  clearInterval(timer);
  say("stopping …");
}
