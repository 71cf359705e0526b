/** Finds out what is wrong with certificates or key: the error of the failed connection does not say. */

import tls from "node:tls";
import { NetplugError } from "../../../lib/errors.ts";
import { quote } from "../../../lib/quote.ts";
import type { EtcdConfig } from "../../config/datastore-config.ts";
import type { TlsMaterial } from "../wire/transport.ts";

/** @throws NetplugError ioFailure, with the name of the file and a code of OpenSSL's, never with what is in it */
export function requireUsable(config: EtcdConfig, { ca, cert, key }: TlsMaterial): void {
  const { caCertFile = "", certFile = "", keyFile = "" } = config;
  if (ca !== undefined) attempt(`etcd_ca_cert_file ${quote(caCertFile)}`, { ca: [...ca] });
  if (cert === undefined || key === undefined) return;
  attempt(`etcd_cert_file ${quote(certFile)}`, { cert });
  attempt(`etcd_key_file ${quote(keyFile)}`, { key });
  attempt(`etcd_cert_file ${quote(certFile)} with etcd_key_file ${quote(keyFile)}`, { cert, key });
}

function attempt(what: string, options: tls.SecureContextOptions): void {
  try {
    tls.createSecureContext(options);
  } catch (thrown) {
    const { code = "no code" } = thrown as { code?: string };
    throw new NetplugError(
      "ioFailure",
      `use ${what}: ${code}; want PEM that is whole, without a passphrase, and a key that fits its certificate`,
    );
  }
}
