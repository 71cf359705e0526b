/** Warns of settings that are allowed, but most likely a mistake. */

import type { Log } from "../lib/log/log.ts";
import { findUnknownNames } from "./binaries.ts";
import { HOW_TO_FIND, type Settings } from "./settings/settings.ts";
import type { TlsAssets } from "./tls-assets.ts";

/** Writes a line for each of them. */
export function warnOfSettings(settings: Settings, assets: TlsAssets, log: Log): void {
  const { confName, skippedBinaries, unusedVariables } = settings;
  if (!/\.(?:conflist|conf|json)$/.test(confName)) log.warning("no runtime reads a network config of this name", { name: confName });
  if (unusedVariables.length > 0) {
    const want = "certificates in TLS_ASSETS_DIR, a password in CNI_NETWORK_CONFIG";
    log.warning("variables have no effect on the network config", { names: unusedVariables, want });
  }
  const unknown = findUnknownNames(skippedBinaries);
  if (unknown.length > 0) log.warning("SKIP_CNI_BINARIES names what is not installed anyway", { names: unknown });
  if (settings.template === undefined && settings.datastoreType === "etcdv3") {
    warnOfUnnamed(settings, log);
    warnOfUnusedCertificates(settings, assets, log);
    warnOfMissingCertificates(settings, assets, log);
  }
}

/** The plugin warns of it too, each time. */
function warnOfUnusedCertificates({ etcdEndpoints }: Settings, assets: TlsAssets, log: Log): void {
  const endpoints = etcdEndpoints.filter((endpoint) => endpoint.startsWith("http:"));
  if (endpoints.length === 0 || Object.keys(assets).length === 0) return;
  log.warning("etcd is spoken to without TLS, although there are certificates for it", { endpoints, want: '"https://" in ETCD_ENDPOINTS' });
}

/** A Secret whose keys have other names looks like none; few have an etcd whose authority every host trusts, and that asks for no certificate. */
function warnOfMissingCertificates({ etcdEndpoints, tlsAssetsDir: folder }: Settings, assets: TlsAssets, log: Log): void {
  if (!etcdEndpoints.some((endpoint) => endpoint.startsWith("https:")) || Object.keys(assets).length > 0) return;
  log.warning("there are no certificates for etcd, which is spoken to by TLS", { folder, want: "etcd-ca, etcd-cert and etcd-key there" });
}

/** With etcd both have defaults, which are seldom what was meant. */
function warnOfUnnamed({ etcdEndpoints, etcdDiscoverySrv, kube }: Settings, log: Log): void {
  if (etcdEndpoints.length === 0 && etcdDiscoverySrv === undefined) {
    const want = "set ETCD_ENDPOINTS, or DATASTORE_TYPE to kubernetes";
    log.warning("the plugin will look for etcd on the node itself: nothing says where it is", { want });
  }
  if (kube === undefined) log.warning("no access to the Kubernetes API is written: nothing says where it is", { want: HOW_TO_FIND });
}
