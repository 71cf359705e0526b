/** The network config that is written when nobody gives a template, and the values of a template's placeholders. */

import type { Placeholders } from "./template.ts";
import type { Settings } from "./settings.ts";
import { type TlsAssets, toHostPath } from "./tls-assets.ts";

/** Not to be changed: addresses in the datastore are recorded under it. */
const NETWORK_NAME = "k8s-pod-network";

/** What stands behind the plugin itself. */
const CHAINED = [{ type: "portmap", snat: true, capabilities: { portMappings: true } }] as const;

/** Names of the plugins that the config chains. */
export const CHAINED_PLUGINS: readonly string[] = CHAINED.map(({ type }) => type);

/** What an installation has found out by itself. */
export interface Findings {
  readonly assets: TlsAssets;
  /** As the host sees it; undefined when none is written. */
  readonly kubeconfigPath: string | undefined;
}

/** The text of the conflist. */
export function toConflist(settings: Settings, findings: Findings & { readonly cniVersion: string }): string {
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
  return `${JSON.stringify({ name: NETWORK_NAME, cniVersion, plugins: [plugin, ...CHAINED] }, undefined, 2)}\n`;
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

/** What may stand between double underscores: the variables of the environment, with their defaults, and what was found out. */
export function toPlaceholders(settings: Settings, { assets, kubeconfigPath = "" }: Findings, hostName: () => string): Placeholders {
  const { hostConfDir, log, service } = settings;
  return {
    CNI_CONF_NAME: settings.confName,
    CNI_MTU: String(settings.mtu),
    CNI_NET_DIR: hostConfDir,
    CNI_OLD_CONF_NAME: settings.oldConfName ?? settings.confName,
    DATASTORE_TYPE: settings.datastoreType,
    ETCD_CA_CERT_FILE: toHostPath(hostConfDir, "caCert", assets) ?? "",
    ETCD_CERT_FILE: toHostPath(hostConfDir, "cert", assets) ?? "",
    ETCD_DISCOVERY_SRV: settings.etcdDiscoverySrv ?? "",
    ETCD_ENDPOINTS: settings.etcdEndpoints.join(","),
    ETCD_KEY_FILE: toHostPath(hostConfDir, "key", assets) ?? "",
    KUBECONFIG_FILEPATH: kubeconfigPath,
    KUBERNETES_NODE_NAME: settings.nodeName ?? hostName().toLowerCase(),
    KUBERNETES_SERVICE_HOST: service.host ?? "",
    KUBERNETES_SERVICE_PORT: service.port ?? "",
    KUBERNETES_SERVICE_PROTOCOL: service.protocol,
    LOG_FILE_MAX_AGE: String(log.maxAge),
    LOG_FILE_MAX_COUNT: String(log.maxCount),
    LOG_FILE_MAX_SIZE: String(log.maxSize),
    LOG_FILE_PATH: log.path,
    LOG_LEVEL: log.level,
    REQUIRE_MTU_FILE: String(settings.requiresMtuFile),
    SKIP_TLS_VERIFY: String(settings.skipsTlsVerify),
    TLS_ASSETS_DIR: settings.tlsAssetsDir,
  };
}
