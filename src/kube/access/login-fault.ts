/** Finds out what is wrong with credentials and authorities when neither `fetch` nor the API server says it. Loaded only after such a failure. */

import { createPrivateKey, X509Certificate } from "node:crypto";
import { findCertificateFault } from "../../lib/client-certificate.ts";
import { NetplugError } from "../../lib/errors.ts";
import type { Login } from "./credentials.ts";

/** @returns undefined when nothing is wrong with them */
export function findLoginFault({ access, identity }: Login): NetplugError | undefined {
  const { tls, authorization, label } = identity;
  // RFC 6750 §2.1; white space around a token is not part of it.
  if (authorization !== undefined && !/^[ -~]*$/.test(authorization.trim()))
    return new NetplugError("accessDenied", `use ${label}: it holds a line break or another character that no token has`);
  if (tls === undefined) return undefined;
  const { clientCertificate, clientKey } = access.user;
  const given = `that the exec plugin of ${access.origin} gives`;
  const certificate = clientCertificate?.label ?? `client certificate ${given}`;
  const key = clientKey?.label ?? `client key ${given}`;
  const fault =
    (tls.ca !== undefined && !areCertificates(tls.ca) && `${access.ca?.label ?? "certificate authority"}: it is damaged`) ||
    (tls.cert !== undefined && !areCertificates(tls.cert) && `${certificate}: it is damaged`) ||
    (tls.key !== undefined && !isPrivateKey(tls.key) && `${key}: it is damaged, or wants a passphrase, which it cannot have here`) ||
    (tls.cert !== undefined && tls.key !== undefined && !isPair(tls.cert, tls.key) && `${key}: it does not belong to ${certificate}`);
  return fault === false ? undefined : new NetplugError("invalidConfig", `use ${fault}`);
}

/**
 * A connection ignores what follows a certificate that is damaged, so the authority that has signed the server's may be among those.
 *
 * @returns undefined when all of them count
 */
export function findUnusedAuthorities({ access, identity }: Login): NetplugError | undefined {
  const parts = identity.tls?.ca?.match(CERTIFICATES) ?? [];
  const damaged = parts.findIndex((part) => !areCertificates(part));
  if (damaged < 0) return undefined;
  const label = access.ca?.label ?? "certificate authority";
  return new NetplugError(
    "invalidConfig",
    `use ${label}: certificate ${damaged + 1} of ${parts.length} is damaged, so what follows it does not count`,
  );
}

/**
 * Why an API server may refuse a client certificate, and what helps.
 *
 * @param now milliseconds since 1970
 * @returns undefined when it cannot be read
 */
export function whyRefused(certificate: string, now: number): string | undefined {
  if (!areCertificates(certificate)) return undefined;
  const fault = findCertificateFault(certificate, now);
  if (fault !== undefined) return fault.isOfAuthority ? `the server may not accept an authority that follows it: ${fault.why}` : fault.why;
  return "the server must trust the authority that has signed it, by its --client-ca-file; an intermediate one may be missing behind it";
}

/** Up to the end of each, or of the text. */
const CERTIFICATES = /-----BEGIN [A-Z0-9 ]*CERTIFICATE-----[^]*?(?:-----END [^\n]*|$)/g;

/** Whether the first of them can be read: a connection ignores what follows one that it can read. */
function areCertificates(pem: string): boolean {
  return !fails(() => new X509Certificate(pem));
}

function isPrivateKey(pem: string): boolean {
  return !fails(() => createPrivateKey(pem));
}

function isPair(certificate: string, key: string): boolean {
  return new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key));
}

function fails(attempt: () => unknown): boolean {
  try {
    attempt();
    return false;
  } catch {
    return true;
  }
}
