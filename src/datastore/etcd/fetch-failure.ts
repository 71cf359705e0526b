/** What Bun's `fetch` throws, as one of our failures. */

import { NetplugError } from "../../lib/errors.ts";
import { EtcdFailure, NO_REPLY } from "./failure.ts";

/** Codes of errors that come before the first byte of a request is sent. */
const NEVER_SENT: Readonly<Record<string, string>> = {
  ConnectionRefused: "connection refused",
  ECONNREFUSED: "connection refused",
  FailedToOpenSocket: "cannot connect",
  ENOTFOUND: "no such host",
  EAI_AGAIN: "name server does not answer",
  EHOSTUNREACH: "no route to host",
  ENETUNREACH: "network unreachable",
};

/** OpenSSL's verification codes and what else a failed handshake is called. */
const HANDSHAKE = /CERT|ISSUER|CRL|ERR_TLS|ERR_SSL|ERR_BORINGSSL|SIGNATURE|EPROTO|HOSTNAME|PATH_LENGTH|INVALID_CA|INVALID_PURPOSE/;

/**
 * @param replied the head of a reply came already, so the request was sent
 */
export function toFailure(thrown: unknown, replied = false): EtcdFailure {
  if (thrown instanceof EtcdFailure) return thrown;
  if (thrown instanceof NetplugError) return new EtcdFailure("lost", thrown.message, 0, thrown);
  const { code, message } = thrown as { code?: unknown; message?: unknown };
  const codeText = typeof code === "string" ? code : "";
  if (!replied) {
    const reason = NEVER_SENT[codeText];
    if (reason !== undefined) return new EtcdFailure("unreachable", reason, 0, thrown);
    if (HANDSHAKE.test(codeText)) return new EtcdFailure("untrusted", `TLS handshake: ${codeText}`, 0, thrown);
    if (codeText === "ECONNRESET") return new EtcdFailure("lost", NO_REPLY, 0, thrown);
  }
  return new EtcdFailure("lost", typeof message === "string" && codeText === "" ? message : `connection lost (${codeText})`, 0, thrown);
}
