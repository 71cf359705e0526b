/** Networks for a cluster: what `startCluster()` takes as `network`. */

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { distFolder, spawnPlugin } from "../support/cni.ts";
import type { Json } from "../support/cni-call.ts";
import type { ApiServer } from "./api-server.ts";
import type { ClusterFacts, ClusterOptions } from "./cluster.ts";
import type { ClusterNode } from "./node.ts";

type Network = ClusterOptions["network"];

const PORTMAP: Json = { type: "portmap", snat: true, capabilities: { portMappings: true } };

/** The CNI project's own: `ptp` and `host-local`, with addresses of the range in the node's object. */
export function ptpNetwork(families: readonly (4 | 6)[] = [4]): Network {
  return (node, cluster) => {
    const [ipv4, ipv6] = cluster.podCidrsOf(node);
    const ranges = families.map((family) => [{ subnet: family === 4 ? ipv4 : ipv6 }]);
    const routes = families.map((family) => ({ dst: family === 4 ? "0.0.0.0/0" : "::/0" }));
    const ptp: Json = { type: "ptp", ipam: { type: "host-local", ranges, routes } };
    node.setNetwork({ cniVersion: "1.1.0", name: "pods", plugins: [ptp, PORTMAP] });
  };
}

export interface NetplugOptions {
  /** Given to pools `pool-0`, … in this order. */
  readonly pools: readonly string[];
  /** Merged into the network config of the plugin. */
  readonly config?: Json;
}

/** Ours, with its datastore in an etcd: the one that the API server has too. `dist/` must be built. */
export function netplugOnEtcd({ pools, config = {} }: NetplugOptions): Network {
  let prepared: Promise<void> | undefined;
  return async (node, cluster) => {
    prepared ??= prepareEtcd(cluster, pools);
    await prepared;
    installNetplug(node);
    const plugin: Json = {
      type: "netplug",
      log_level: "INFO",
      log_file_path: "/var/log/netplug/cni/cni.log",
      etcd_endpoints: cluster.etcdEndpoint,
      ipam: { type: "netplug-ipam" },
      ...config,
    };
    node.setNetwork({ cniVersion: "1.1.0", name: "pods", plugins: [plugin, PORTMAP] });
  };
}

/** Ours, with its datastore in the API server, put on each node by the installer with the roles that we ship. `dist/` must be built. */
export function netplugOnKubernetes({ pools }: Pick<NetplugOptions, "pools">): Network {
  let prepared: Promise<void> | undefined;
  return async (node, cluster) => {
    prepared ??= prepareKubernetes(cluster, pools);
    await prepared;
    await install(node, cluster);
  };
}

/** Where a node's plugin, and its installer, find the API server. */
export type Door = Pick<ApiServer, "url" | "caFile">;

/** The installer that we ship, as a node runs it; without more arguments it stays. */
export interface Installer {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** Ours, put on each node by the installer as above, with its datastore in the etcd of the API server. */
export function netplugInstalledOnEtcd({ pools }: Pick<NetplugOptions, "pools">): Network {
  let prepared: Promise<void> | undefined;
  return async (node, cluster) => {
    prepared ??= prepareEtcdAndRoles(cluster, pools);
    await prepared;
    const { command, env } = await installerFor(node, cluster);
    node.must([...command, "--once"], "", { ...env, DATASTORE_TYPE: "etcdv3", ETCD_ENDPOINTS: cluster.etcdEndpoint });
  };
}

/** Runs it once. @param door where the plugin is to find the API server; absent: where everybody does */
export async function install(node: ClusterNode, cluster: ClusterFacts, door?: Door): Promise<void> {
  const { command, env } = await installerFor(node, cluster, door);
  node.must([...command, "--once"], "", env);
}

export async function installerFor(
  node: ClusterNode,
  { api, url }: ClusterFacts,
  door: Door = { url, caFile: api.caFile },
): Promise<Installer> {
  const token = await api.kubectl(["--namespace", "kube-system", "create", "token", "netplug-node"]);
  return {
    command: [join(distFolder, "netplug"), "install-cni", "--bin-dir=/opt/cni/bin", "--conf-dir=/etc/cni/net.d"],
    env: {
      DATASTORE_TYPE: "kubernetes",
      K8S_API_ENDPOINT: door.url,
      K8S_API_TOKEN: token.trim(),
      K8S_CA_FILE: door.caFile,
      KUBERNETES_NODE_NAME: node.name,
    },
  };
}

/** Links the built executable into the node's plugin folder. */
export function installNetplug(node: ClusterNode): void {
  for (const name of ["netplug", "netplug-ipam"]) node.installPlugin(join(distFolder, name));
}

async function prepareEtcd(cluster: ClusterFacts, pools: readonly string[]): Promise<void> {
  await initialise(etcdAccess(cluster), pools);
}

async function prepareEtcdAndRoles(cluster: ClusterFacts, pools: readonly string[]): Promise<void> {
  await cluster.api.kubectl(["wait", "--for=create", "namespace/kube-system", "--timeout=30s"]);
  await applyRoles(cluster, "rbac-etcd.yaml");
  await prepareEtcd(cluster, pools);
}

/** Gives an API server our roles, CRDs and pools. */
export async function prepareKubernetes(cluster: ClusterFacts, pools: readonly string[]): Promise<void> {
  await cluster.api.kubectl(["wait", "--for=create", "namespace/kube-system", "--timeout=30s"]);
  await applyRoles(cluster);
  await initialise(kubernetesAccess(cluster), pools);
}

/** The accounts and roles that we ship. */
export async function applyRoles({ api }: ClusterFacts, manifest = "rbac.yaml"): Promise<void> {
  const roles = readFileSync(join(dirname(distFolder), "manifests", manifest), "utf8");
  await api.kubectl(["apply", "--server-side", "--force-conflicts", "-f", "-"], roles);
}

/** What `netplugctl` needs in its environment for the datastore in the API server's etcd. */
export function etcdAccess({ api }: ClusterFacts): Readonly<Record<string, string>> {
  return { PATH: process.env["PATH"] ?? "", ETCD_ENDPOINTS: api.etcdEndpoint };
}

/** What `netplugctl` needs in its environment for the datastore in the API server, as the administrator. */
export function kubernetesAccess({ api }: ClusterFacts): Readonly<Record<string, string>> {
  return { PATH: process.env["PATH"] ?? "", DATASTORE_TYPE: "kubernetes", KUBECONFIG: api.kubeconfigFile };
}

/** Makes the datastore, with pools `pool-0`, … in this order. */
export async function initialise(env: Readonly<Record<string, string>>, pools: readonly string[]): Promise<void> {
  await netplugctl(env, ["init"]);
  for (const [index, cidr] of pools.entries()) {
    const pool = { apiVersion: "netplug.io/v3", kind: "IPPool", metadata: { name: `pool-${index}` }, spec: { cidr } };
    await netplugctl(env, ["apply", "-f", "-"], JSON.stringify(pool));
  }
}

/** Runs `dist/netplugctl`. @throws Error with what it said */
export async function netplugctl(env: Readonly<Record<string, string>>, args: readonly string[], stdin = ""): Promise<string> {
  const { status, stdout, stderr } = await spawnPlugin(join(distFolder, "netplugctl"), env, stdin, args);
  if (status !== 0) throw new Error(`netplugctl ${args.join(" ")}: status ${status}: ${stderr}${stdout}`);
  return stdout;
}
