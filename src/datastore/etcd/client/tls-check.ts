/** Finds out what is wrong with certificates or key, or whose they are: the error of the failed connection, or of a denied request, does not say. */

import tls from "node:tls";
import { commonNameOf, findCertificateFault } from "../../../lib/client-certificate.ts";
import { NetplugError } from "../../../lib/errors.ts";
import { quote } from "../../../lib/quote.ts";
import type { EtcdConfig } from "../../config/datastore-config.ts";
import { EtcdFailure, STATUS } from "../protocol/failure.ts";
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

/** What Bun calls a handshake that the server has ended, as etcd does where it does not accept our certificate: over HTTP/1.1, and over gRPC. */
const ENDED_BY_SERVER = /EPROTO$|_ALERT_/;

/**
 * The same failure, with what to do if it was our certificate that etcd did not accept, or whose user it denies something. Of the first
 * Bun's own text goes: it asks whether etcd speaks TLS.
 *
 * @param now milliseconds since 1970
 */
export function advise(failure: EtcdFailure, config: EtcdConfig, { cert }: TlsMaterial, now: number): EtcdFailure {
  const { certFile = "", username } = config;
  if (failure.status === STATUS.permissionDenied) {
    if (username !== undefined || cert === undefined) return failure;
    return new EtcdFailure(failure.reason, failure.message, failure.status, failure.cause, adviceForUser(certFile, cert));
  }
  if (failure.reason !== "untrusted" || !ENDED_BY_SERVER.test(failure.message)) return failure;
  return new EtcdFailure(failure.reason, failure.message, failure.status, undefined, adviceFor(certFile, cert, now));
}

/** Undefined without a common name. */
function adviceForUser(certFile: string, cert: string): string | undefined {
  const name = commonNameOf(cert);
  if (name === undefined) return undefined;
  return `check the etcd user ${quote(name)}, the common name in etcd_cert_file ${quote(certFile)}, and its roles`;
}

function adviceFor(certFile: string, cert: string | undefined, now: number): string {
  if (cert === undefined) return "etcd may want a client certificate: give etcd_cert_file and etcd_key_file";
  const file = `etcd_cert_file ${quote(certFile)}`;
  const fault = findCertificateFault(cert, now);
  if (fault?.isOfAuthority === false) return `etcd does not accept ${file}: ${fault.why}`;
  if (fault !== undefined) return `etcd may not accept an authority in ${file}: ${fault.why}`;
  const known = "it must know the authority that has signed it, by its --trusted-ca-file";
  return `etcd may not trust ${file}: ${known}; an intermediate one may be missing in the file`;
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
