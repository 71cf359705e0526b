/** A whole Kubernetes cluster: control plane and nodes, all of it in namespaces of its own on this machine. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { areClusterProgramsBuilt, CLUSTER_PROGRAMS, clusterProgram } from "../../../tools/prerequisites/cluster-programs.ts";
import type { Json } from "../../support/programs/cni-call.ts";
import { makeImage } from "../../support/programs/image.ts";
import { inUrl, startApiServerAt } from "../../support/servers/api-server.ts";
import type { ApiServer, ApiServerOptions, ApiServerPlace } from "../../support/servers/api-server.ts";
import { Cleaner } from "../../support/daemons/cleaner.ts";
import { Daemon } from "../../support/daemons/daemon.ts";
import { ClusterNode } from "./node.ts";
import { BUSYBOX_IMAGE, PAUSE_IMAGE } from "./node-config.ts";
import { Underlay } from "./underlay.ts";

export interface ClusterOptions extends Pick<ApiServerOptions, "users" | "args" | "isDurable"> {
  /** One at the least. @default 1 */
  readonly nodes?: number;
  /** Called for each node before its kubelet starts: installs plugins, writes the network config. */
  readonly network: (node: ClusterNode, cluster: ClusterFacts) => void | Promise<void>;
  /** Whether nodes get their network only later: they are NotReady when the cluster is returned. @default false */
  readonly isNetworkLate?: boolean;
  /** Whether nodes, Services and the API server as they reach it have IPv6 addresses only. @default false */
  readonly isIPv6Only?: boolean;
  /** What kube-proxy is told of the network; it runs on each node then, and Services work. @default none runs, which saves time and memory */
  readonly kubeProxy?: Json;
}

/** What a node's network may have to know. */
export interface ClusterFacts {
  /** Of the API server, as nodes and pods reach it. */
  readonly url: string;
  /** Of the API server's etcd, as nodes reach it. */
  readonly etcdEndpoint: string;
  readonly api: ApiServer;
  /** An IPv4 and an IPv6 range; the node's object names those of the cluster's families. */
  podCidrsOf(node: ClusterNode): readonly [string, string];
}

export interface Cluster extends AsyncDisposable, ClusterFacts {
  readonly controllerManager: Daemon;
  readonly scheduler: Daemon;
  readonly nodes: readonly [ClusterNode, ...ClusterNode[]];
  /** Runs `kubectl` as the administrator. @throws Error when it fails */
  kubectl(args: readonly string[], stdin?: string): Promise<string>;
  /** Waits until these pods are Ready. @throws Error with what the cluster complained about */
  untilReady(pods: readonly string[], namespace?: string): Promise<void>;
  /** What goes wrong in a namespace, as its events tell. */
  warnings(namespace?: string): Promise<string>;
  /** Sends what goes to `cidr` to a node, from everywhere else in the cluster. */
  route(cidr: string, to: ClusterNode): void;
  /** Ends it and removes everything that it made. */
  stop(): Promise<void>;
}

/** Whether the programs are there; tests that need them say `(needs cluster)` in their name and are skipped otherwise. */
export function canStartCluster(): boolean {
  return areClusterProgramsBuilt(CLUSTER_PROGRAMS);
}

/** Starts everything; all nodes are Ready when it returns, or NotReady when their network is late. */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const cleaner = new Cleaner();
  try {
    return await start(options, cleaner);
  } catch (thrown) {
    await cleaner.clean();
    throw thrown;
  }
}

async function start(options: ClusterOptions, cleaner: Cleaner): Promise<Cluster> {
  const { isIPv6Only = false } = options;
  const underlay = await Underlay.make(cleaner, isIPv6Only);
  const ports = { server: 6443, etcd: 2379, etcdPeer: 2380 };
  const listen = isIPv6Only ? "::" : "0.0.0.0";
  const place: ApiServerPlace = {
    enter: underlay.enter,
    listen,
    host: underlay.host,
    advertise: underlay.controlPlane,
    serviceFamilies: isIPv6Only ? [6] : [4, 6],
    ports,
  };
  const api = await startApiServerAt(place, cleaner, { ...options, withServiceAccounts: true });

  const nodes: ClusterNode[] = [];
  for (let index = 0; index < (options.nodes ?? 1); index++) {
    const name = `node-${index + 1}`;
    const folder = join(api.folder, name);
    mkdirSync(folder);
    nodes.push(new ClusterNode({ name, folder, wire: await underlay.addNode(index), cleaner }));
  }
  const facts: ClusterFacts = {
    url: `https://${inUrl(underlay.controlPlane)}:${ports.server}`,
    etcdEndpoint: `http://${inUrl(underlay.controlPlane)}:${ports.etcd}`,
    api,
    podCidrsOf: (node) => podCidrsAt(nodes.indexOf(node)),
  };
  const image = makeImage(join(api.folder), { tags: [PAUSE_IMAGE, BUSYBOX_IMAGE], entrypoint: WAIT_UNTIL_TERM });
  const controllerManager = createControllerManager(api, underlay);
  const scheduler = createScheduler(api, underlay);
  const daemons = [controllerManager, scheduler];
  const plan: NodePlan = { image, options, facts, startKubeProxy: kubeProxyStarter(options, facts) };
  await Promise.all([...daemons.map((daemon) => daemon.start()), ...nodes.map((node) => startNode(node, plan))]);
  const wanted = options.isNetworkLate === true ? "false" : "true";
  await api.kubectl(["wait", `--for=condition=Ready=${wanted}`, "node", "--all", "--timeout=180s"]);

  const stop = async (): Promise<void> => {
    await Promise.all(nodes.map((node) => node.init.stop()));
    await Promise.all(daemons.map((daemon) => daemon.stop()));
    await api.stop();
  };
  return {
    ...facts,
    controllerManager,
    scheduler,
    nodes: nodes as [ClusterNode, ...ClusterNode[]],
    kubectl: (args, stdin) => api.kubectl(args, stdin),
    untilReady: (pods, namespace = "default") => untilReady(api, pods, namespace),
    warnings: (namespace = "default") => warnings(api, namespace),
    route(cidr, to) {
      const others = nodes.filter((node) => node !== to).map(({ wire }) => wire);
      underlay.route(cidr, to.wire, others);
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

async function untilReady(api: ApiServer, pods: readonly string[], namespace: string): Promise<void> {
  const names = pods.map((name) => `pod/${name}`);
  try {
    await api.kubectl(["--namespace", namespace, "wait", "--for=condition=Ready", ...names, "--timeout=180s"]);
  } catch (thrown) {
    throw new Error(`wait for ${names.join(", ")}: ${await warnings(api, namespace)}`, { cause: thrown });
  }
}

async function warnings(api: ApiServer, namespace: string): Promise<string> {
  return await api.kubectl(["--namespace", namespace, "events", "--types=Warning"]);
}

/** As process 1 it would ignore TERM otherwise, and every pod would take its whole grace period to end. */
const WAIT_UNTIL_TERM = ["/bin/sh", "-c", "trap exit TERM; sleep 2147483 & wait"];

interface NodePlan {
  readonly image: string;
  readonly options: ClusterOptions;
  readonly facts: ClusterFacts;
  readonly startKubeProxy: (node: ClusterNode) => Promise<void>;
}

async function startNode(node: ClusterNode, { image, options, facts, startKubeProxy }: NodePlan): Promise<void> {
  const podCidrs = facts.podCidrsOf(node).slice(options.isIPv6Only === true ? 1 : 0);
  const object = {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: node.name, labels: { "kubernetes.io/hostname": node.name } },
    spec: { podCIDR: podCidrs[0], podCIDRs: podCidrs },
  };
  await Promise.all([node.startContainerd(image), facts.api.kubectl(["create", "-f", "-"], JSON.stringify(object))]);
  await options.network(node, facts);
  const kubelet = facts.api.issue(`system:node:${node.name}`, ["system:nodes"], facts.url);
  await Promise.all([node.startKubelet(kubelet.kubeconfigFile), startKubeProxy(node)]);
}

/** What starts kube-proxy on a node, or does nothing. All nodes' have one user, as in most clusters. */
function kubeProxyStarter({ kubeProxy }: ClusterOptions, { api, url }: ClusterFacts): (node: ClusterNode) => Promise<void> {
  if (kubeProxy === undefined) return async () => {};
  const { kubeconfigFile } = api.issue("system:kube-proxy", [], url);
  return (node) => node.startKubeProxy(kubeconfigFile, kubeProxy);
}

function podCidrsAt(index: number): readonly [string, string] {
  // as RFC 5952 writes it: the API server warns of others
  return [`10.244.${index}.0/24`, index === 0 ? "fd10:244::/64" : `fd10:244:0:${index}::/64`];
}

function createControllerManager(api: ApiServer, underlay: Underlay): Daemon {
  return createControlPlaneProgram("kube-controller-manager", 10_257, api, underlay, [
    `--service-account-private-key-file=${api.serviceAccountKeyFile}`,
    `--root-ca-file=${api.caFile}`,
    "--node-monitor-period=1s",
  ]);
}

function createScheduler(api: ApiServer, underlay: Underlay): Daemon {
  return createControlPlaneProgram("kube-scheduler", 10_259, api, underlay, []);
}

function createControlPlaneProgram(
  name: "kube-controller-manager" | "kube-scheduler",
  port: number,
  api: ApiServer,
  underlay: Underlay,
  flags: readonly string[],
): Daemon {
  return new Daemon({
    name,
    place: underlay.enter,
    command: [
      clusterProgram(name),
      `--kubeconfig=${api.kubeconfigFile}`,
      "--leader-elect=false",
      "--kube-api-qps=200",
      "--kube-api-burst=400",
      ...flags,
    ],
    logFile: join(api.folder, `${name}.log`),
    cleaner: api.cleaner,
    isReady: async (signal) => (await fetch(`https://${underlay.host}:${port}/healthz`, { signal, tls: { rejectUnauthorized: false } })).ok,
  });
}
