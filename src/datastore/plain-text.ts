/** What is said to etcd in the clear although certificates are configured; the plugin loads this only where that is so. */

import { quote } from "../lib/quote.ts";
import type { EtcdConfig } from "./datastore-config.ts";
import { DATASTORE_VARIABLES, type SettingName } from "./datastore-settings.ts";

/**
 * Warns of endpoints without TLS where certificates are configured. No refusal: who moves a cluster to TLS hands out certificates first and changes endpoints
 * one by one, and pods start and end all the while.
 *
 * @param config one that `isPartlyPlain()`
 * @param warn gets the one sentence
 * @param nameOf what a setting is called; without it as network configs do
 */
export function warnOfPlainText(config: EtcdConfig, warn: (text: string) => void, nameOf: (name: SettingName) => string = toKey): void {
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
