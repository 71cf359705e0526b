/** Warns of endpoints of etcd without TLS although certificates are configured; the plugin loads this only in that case. */

import { quote } from "../../lib/quote.ts";
import type { EtcdConfig } from "./datastore-config.ts";
import { DATASTORE_VARIABLES, type SettingName } from "./datastore-settings.ts";

/**
 * Warns of endpoints without TLS where certificates are configured. Such a config is not refused: a cluster that moves to TLS first gets
 * certificates, then changes its endpoints one by one, and pods must start and end meanwhile.
 *
 * @param config one for which `isPartlyPlain()` holds
 * @param warn gets the one sentence
 * @param nameOf what a setting is called; without it as network configs do
 */
export function warnOfPlaintext(config: EtcdConfig, warn: (text: string) => void, nameOf: (name: SettingName) => string = toKey): void {
  const plain = config.endpoints.filter((endpoint) => endpoint.startsWith("http:")).map((endpoint) => quote(endpoint));
  const files: SettingName[] = [];
  if (config.caCertFile !== undefined) files.push("etcdCACertFile");
  if (config.certFile !== undefined) files.push("etcdCertFile", "etcdKeyFile");
  const where = nameOf("etcdEndpoints");
  const effect = `${files.map(nameOf).join(", ")} ${files.length === 1 ? "has" : "have"} no effect there`;
  const what = config.username === undefined ? "everything" : "everything, the password too,";
  warn(`${where}: ${plain.join(", ")} without TLS: ${effect}, and ${what} goes in the clear; write "https://" for "http://"`);
}

function toKey(name: SettingName): string {
  return DATASTORE_VARIABLES[name].toLowerCase();
}
