/** Networks for a cluster: what `startCluster()` takes as `network`. */

import { join } from "node:path";
import { distFolder } from "../../support/programs/cni.ts";
import type { Json } from "../../support/programs/cni-call.ts";
import { ShownDocument } from "../../support/documents/document.ts";
import type { ClusterFacts, ClusterOptions } from "./cluster.ts";
import { prepareEtcd, prepareEtcdAndRoles, prepareKubernetes } from "./datastores.ts";
import type { ClusterNode } from "./node.ts";
import { runInstaller } from "./node-installer.ts";

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
  /** CIDRs, given to pools `pool-0`, … in this order. */
  readonly pools: readonly string[];
}

/** Ours, put there by hand, with its datastore in an etcd: the one that the API server has too. `dist/` must be built. */
export function netplugOnEtcd({ pools }: NetplugOptions): Network {
  return afterOnce(
    (cluster) => prepareEtcd(cluster, pools),
    (node, cluster) => {
      installNetplug(node);
      const plugin: Json = {
        type: "netplug",
        log_level: "INFO",
        log_file_path: "/var/log/netplug/cni/cni.log",
        etcd_endpoints: cluster.etcdEndpoint,
        ipam: { type: "netplug-ipam" },
      };
      node.setNetwork({ cniVersion: "1.1.0", name: "pods", plugins: [plugin, PORTMAP] });
    },
  );
}

/** The same, but put on each node by the installer, with the roles that we ship. */
export function netplugInstalledOnEtcd({ pools }: NetplugOptions): Network {
  return afterOnce(
    (cluster) => prepareEtcdAndRoles(cluster, pools),
    (node, cluster) => runInstaller(node, cluster, { settings: { DATASTORE_TYPE: "etcdv3", ETCD_ENDPOINTS: cluster.etcdEndpoint } }),
  );
}

export interface InstalledOptions extends NetplugOptions {
  /** With placeholders. @default the installer's own */
  readonly networkConfig?: string;
}

/** Ours, with its datastore in the API server, put on each node by the installer with the roles that we ship. `dist/` must be built. */
export function netplugOnKubernetes({ pools, networkConfig }: InstalledOptions): Network {
  const settings = networkConfig === undefined ? {} : { CNI_NETWORK_CONFIG: networkConfig };
  return afterOnce(
    (cluster) => prepareKubernetes(cluster, pools),
    (node, cluster) => runInstaller(node, cluster, { settings }),
  );
}

/** For {@link netplugOnKubernetes}: what docs/install.md has people write for both families. */
export function shownNetworkConfig(): string {
  const block = new ShownDocument("docs/install.md").block("yaml", "kind: ConfigMap");
  return (Bun.YAML.parse(block) as { readonly data: { readonly CNI_NETWORK_CONFIG: string } }).data.CNI_NETWORK_CONFIG;
}

/** A network of a cluster that is prepared for it once, before the first node. */
function afterOnce(prepare: (cluster: ClusterFacts) => Promise<void>, install: Network): Network {
  let prepared: Promise<void> | undefined;
  return async (node, cluster) => {
    await (prepared ??= prepare(cluster));
    await install(node, cluster);
  };
}

/** Links the built executable into the node's plugin folder. */
function installNetplug(node: ClusterNode): void {
  for (const name of ["netplug", "netplug-ipam"]) node.installPlugin(join(distFolder, name));
}
