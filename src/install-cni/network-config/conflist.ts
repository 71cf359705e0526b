/** The network config that is written when nobody gives a template. */

import type { Settings } from "../settings/settings.ts";
import { type TlsAssets, toHostPath } from "../tls-assets.ts";

/** Must not change: addresses in the datastore are recorded under it. */
const NETWORK_NAME = "k8s-pod-network";

/** The plugins that run after ours. */
const CHAINED = [{ type: "portmap", snat: true, capabilities: { portMappings: true } }] as const;

/** Their names. */
export const CHAINED_PLUGINS: readonly string[] = CHAINED.map(({ type }) => type);

/** What an installation finds out on the node. */
export interface NodeFindings {
  readonly assets: TlsAssets;
  /** As the host sees it; undefined when none is written. */
  readonly kubeconfigPath: string | undefined;
}

/** The text of the conflist. */
export function toConflist(settings: Settings, findings: NodeFindings & { readonly cniVersion: string }): string {
  const { log, nodeName, mtu, requiresMtuFile } = settings;
  const { kubeconfigPath, cniVersion } = findings;
  const plugin = {
    type: "netplug",
    log_level: log.level,
    log_file_path: log.path,
    log_file_max_size: log.maxSize,
    log_file_max_age: log.maxAge,
    log_file_max_count: log.maxCount,
    datastore_type: settings.datastoreType,
    ...(settings.datastoreType === "etcdv3" && toEtcdKeys(settings, findings.assets)),
    ...(nodeName !== undefined && { nodename: nodeName }),
    mtu,
    ...(requiresMtuFile && { require_mtu_file: true }),
    ipam: { type: "netplug-ipam" },
    policy: { type: "k8s" },
    ...(kubeconfigPath !== undefined && { kubernetes: { kubeconfig: kubeconfigPath } }),
  };
  return toText({ name: NETWORK_NAME, cniVersion, plugins: [plugin, ...CHAINED] });
}

/** The same conflist, of another CNI version. */
export function atVersion(conflist: string, cniVersion: string): string {
  return toText({ ...(JSON.parse(conflist) as object), cniVersion });
}

function toText(conflist: object): string {
  return `${JSON.stringify(conflist, undefined, 2)}\n`;
}

function toEtcdKeys({ hostConfDir, etcdEndpoints, etcdDiscoverySrv }: Settings, assets: TlsAssets): Readonly<Record<string, string>> {
  const caCert = toHostPath(hostConfDir, "caCert", assets);
  const cert = toHostPath(hostConfDir, "cert", assets);
  const key = toHostPath(hostConfDir, "key", assets);
  return {
    ...(etcdEndpoints.length > 0 && { etcd_endpoints: etcdEndpoints.join(",") }),
    ...(etcdDiscoverySrv !== undefined && { etcd_discovery_srv: etcdDiscoverySrv }),
    ...(caCert !== undefined && { etcd_ca_cert_file: caCert }),
    ...(cert !== undefined && { etcd_cert_file: cert }),
    ...(key !== undefined && { etcd_key_file: key }),
  };
}
