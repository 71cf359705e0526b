/** `npm run cluster`: the cluster of the tests, for a person. */

import { dirname, join } from "node:path";
import { HOST_PREFIX } from "../../src/api/endpoint-names.ts";
import { startApiServer } from "../../test/support/servers/api-server.ts";
import { startCluster } from "../../test/cluster/support/cluster.ts";
import type { Cluster, ClusterOptions } from "../../test/cluster/support/cluster.ts";
import { etcdAccess, kubernetesAccess } from "../../test/cluster/support/datastores.ts";
import { BUSYBOX_IMAGE } from "../../test/cluster/support/node-config.ts";
import { netplugInstalledOnEtcd, netplugOnKubernetes, ptpNetwork } from "../../test/cluster/support/networks.ts";
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
import { keepRouted } from "./block-routes.ts";
import { CLUSTER_POOLS, parseClusterOrder, variablesFor } from "./order.ts";
import type { ClusterStart } from "./order.ts";

/** The task. */
export async function runCluster(args: readonly string[]): Promise<number> {
  const order = parseClusterOrder(args);
  switch (order.command) {
    case "build":
      await ensurePrograms(CLUSTER_PROGRAMS);
      say(`everything is built: ${dirname(clusterProgram("kubectl"))}`);
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
  sayHowToUse(api.kubeconfigFile, [], ["kubectl get namespaces"]);
  await untilInterrupted();
  return 0;
}

async function playWithCluster(order: ClusterStart): Promise<number> {
  const { nodes, network } = order;
  await ensurePrograms(CLUSTER_PROGRAMS);
  if (network === "netplug") build();
  const started = performance.now();
  say("starting etcd, kube-apiserver, kube-controller-manager, kube-scheduler, containerd, kubelet, kube-proxy …");
  await using cluster = await startCluster({ nodes, network: networkOf(order), kubeProxy: kubeProxyFor(order) });
  if (network === "ptp") for (const node of cluster.nodes) cluster.route(cluster.podCidrsOf(node)[0], node);
  say(`${bold("cluster")} of ${nodes} node(s) at ${cluster.api.url}, network ${describeNetwork(order)} (${since(started)})`);
  sayHowToUse(cluster.api.kubeconfigFile, variablesFor(order, cluster.api.etcdEndpoint), [
    "kubectl get nodes -o wide",
    `kubectl create deployment web --image=${BUSYBOX_IMAGE} --replicas=3`,
    "kubectl get pods -o wide",
    ...(network === "netplug" ? ["netplugctl get ippools", "netplugctl ipam show --show-blocks"] : []),
    ...cluster.nodes.map((node) => `nsenter -t ${node.init.pid ?? ""} -m -u -i -n -p -C sh   ${dim(`# a shell on ${node.name}`)}`),
  ]);
  say(`logs of every program: ${cluster.api.folder}/*.log, ${cluster.api.folder}/node-*/*.log`);
  if (network === "netplug")
    say(`the plugin's log, for netplugctl ledger --file: ${cluster.api.folder}/node-*/var/log/netplug/cni/cni.log`);
  // the API server, too, answers pods by way of their node
  const stopRouting = network === "netplug" ? keepRouted(cluster, accessOf(order, cluster)) : () => undefined;
  if (network === "netplug" && nodes > 1) say("routes between the nodes are this command's: netplug does not make them yet");
  await untilInterrupted();
  stopRouting();
  return 0;
}

function networkOf({ network, datastore }: ClusterStart): ClusterOptions["network"] {
  if (network === "ptp") return ptpNetwork();
  return datastore === "etcdv3" ? netplugInstalledOnEtcd({ pools: CLUSTER_POOLS }) : netplugOnKubernetes({ pools: CLUSTER_POOLS });
}

/** What kube-proxy has to know of the network: how the node's ends of pods' interfaces are named. */
function kubeProxyFor({ network }: ClusterStart): NonNullable<ClusterOptions["kubeProxy"]> {
  const interfaceNamePrefix = network === "ptp" ? "veth" : HOST_PREFIX;
  return { detectLocalMode: "InterfaceNamePrefix", detectLocal: { interfaceNamePrefix } };
}

function describeNetwork({ network, datastore }: ClusterStart): string {
  if (network === "ptp") return "ptp with host-local";
  return `netplug, its datastore in ${datastore === "etcdv3" ? "etcd" : "the Kubernetes API"}`;
}

function accessOf({ datastore }: ClusterStart, cluster: Cluster): Readonly<Record<string, string>> {
  return datastore === "etcdv3" ? etcdAccess(cluster) : kubernetesAccess(cluster);
}

function sayHowToUse(kubeconfigFile: string, variables: readonly string[], commands: readonly string[]): void {
  const path = `PATH=${dirname(clusterProgram("kubectl"))}:${join(repositoryRoot, "dist")}:$PATH`;
  say("in another terminal:");
  say(`  ${["export", `KUBECONFIG=${kubeconfigFile}`, ...variables, path].join(" ")}`);
  for (const command of commands) say(`  ${command}`);
}

async function untilInterrupted(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const done = (): void => resolve();
  say("Ctrl-C ends it and removes everything that it made");
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, done);
  // nothing else keeps the process alive
  const timer = setInterval(() => undefined, 60_000);
  await promise;
  clearInterval(timer);
  say("stopping …");
}
