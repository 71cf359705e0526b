/** Networks for a cluster: what `startCluster()` takes as `network`. */

import { join } from "node:path";
import { distFolder } from "../../support/programs/cni.ts";
import type { Json } from "../../support/programs/cni-call.ts";
import type { ClusterOptions } from "./cluster.ts";
import { prepareEtcd, prepareEtcdAndRoles, prepareKubernetes } from "./datastores.ts";
import type { ClusterNode } from "./node.ts";
import { installerFor } from "./node-installer.ts";

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

export interface InstalledOptions extends Pick<NetplugOptions, "pools"> {
  /** With placeholders. @default the installer's own */
  readonly networkConfig?: string;
}

/** Ours, with its datastore in the API server, put on each node by the installer with the roles that we ship. `dist/` must be built. */
export function netplugOnKubernetes({ pools, networkConfig }: InstalledOptions): Network {
  let prepared: Promise<void> | undefined;
  return async (node, cluster) => {
    prepared ??= prepareKubernetes(cluster, pools);
    await prepared;
    const { command, env } = await installerFor(node, cluster);
    node.must([...command, "--once"], "", { ...env, ...(networkConfig !== undefined && { CNI_NETWORK_CONFIG: networkConfig }) });
  };
}

/** Ours, put on each node by the installer with the roles that we ship, and with its datastore in the etcd of the API server. */
export function netplugInstalledOnEtcd({ pools }: Pick<NetplugOptions, "pools">): Network {
  let prepared: Promise<void> | undefined;
  return async (node, cluster) => {
    prepared ??= prepareEtcdAndRoles(cluster, pools);
    await prepared;
    const { command, env } = await installerFor(node, cluster);
    node.must([...command, "--once"], "", { ...env, DATASTORE_TYPE: "etcdv3", ETCD_ENDPOINTS: cluster.etcdEndpoint });
  };
}

/** Links the built executable into the node's plugin folder. */
function installNetplug(node: ClusterNode): void {
  for (const name of ["netplug", "netplug-ipam"]) node.installPlugin(join(distFolder, name));
}
