/** Finds out why `fetch` cannot begin a request with these credentials, which its error does not say. Loaded only after such a failure. */

import { createPrivateKey, X509Certificate } from "node:crypto";
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
