/** The values of a template's placeholders. */

import type { Settings } from "../settings/settings.ts";
import { toHostPath } from "../tls-assets.ts";
import type { NodeFindings } from "./conflist.ts";
import type { Placeholders } from "./template.ts";

/**
 * A value for each name that is allowed between double underscores: variables of the environment, with their defaults or empty texts
 * where they have none, and findings.
 */
export function toPlaceholders(settings: Settings, { assets, kubeconfigPath = "" }: NodeFindings, hostName: () => string): Placeholders {
  const { hostConfDir, log, service, template } = settings;
  return {
    CNI_CONF_NAME: settings.confName,
    CNI_MTU: String(settings.mtu),
    CNI_NET_DIR: hostConfDir,
    CNI_NETWORK_CONFIG: template !== undefined && "text" in template ? template.text : "",
    CNI_NETWORK_CONFIG_FILE: template !== undefined && "path" in template ? template.path : "",
    CNI_OLD_CONF_NAME: settings.oldConfName ?? "",
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
    REMOVE_ON_STOP: String(settings.removesOnStop),
    REQUIRE_MTU_FILE: String(settings.requiresMtuFile),
    SKIP_CNI_BINARIES: settings.skippedBinaries.join(","),
    SKIP_TLS_VERIFY: String(settings.skipsTlsVerify),
    SLEEP: String(!settings.isOnce),
    TLS_ASSETS_DIR: settings.tlsAssetsDir,
    UPDATE_CNI_BINARIES: String(settings.updatesBinaries),
  };
}
