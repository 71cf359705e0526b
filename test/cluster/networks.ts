/** Networks for a cluster: what `startCluster()` takes as `network`. */

import { join } from "node:path";
import { distFolder, spawnPlugin } from "../support/cni.ts";
import type { Json } from "../support/cni.ts";
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

/** Links the built executable into the node's plugin folder. */
export function installNetplug(node: ClusterNode): void {
  for (const name of ["netplug", "netplug-ipam"]) node.installPlugin(join(distFolder, name));
}

async function prepareEtcd(cluster: ClusterFacts, pools: readonly string[]): Promise<void> {
  const env = { PATH: process.env["PATH"] ?? "", ETCD_ENDPOINTS: cluster.api.etcdEndpoint };
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
