/** What `fetch` throws, as failures of ours. */

import { messageOf } from "../lib/errors.ts";
import { KubeError } from "./kube-error.ts";
import type { KubeRequest } from "./request.ts";
import { isRead, toActionText } from "./request.ts";

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
function isHandshakeCode(code: string): boolean {
  return /CERT|ISSUER|CRL|ERR_TLS|ERR_SSL|ERR_BORINGSSL|SIGNATURE|EPROTO|HOSTNAME|PATH_LENGTH|INVALID_CA|INVALID_PURPOSE/.test(code);
}

/** Whether `fetch` could not even begin: the network may be the cause, or what it was given. */
export function isNeverBegun(thrown: unknown): boolean {
  const { code } = thrown as { code?: unknown };
  return thrown instanceof TypeError && (code === undefined || code === "FailedToOpenSocket");
}

export interface BrokenRequest {
  readonly request: KubeRequest;
  /** Shown in messages. */
  readonly server: string;
  /** Whether the head of the answer had come. */
  readonly isAnswered: boolean;
}

/** @returns the failure that something thrown by `fetch`, or while the body was read, means */
export function toBrokenFailure(thrown: unknown, { request, server, isAnswered }: BrokenRequest): KubeError {
  if (thrown instanceof KubeError) return thrown;
  const action = toActionText(request);
  const { code } = thrown as { code?: unknown };
  const codeText = typeof code === "string" ? code : "";
  if (!isAnswered) {
    const reason = NEVER_SENT[codeText];
    if (reason !== undefined) return new KubeError("unreachable", `${action}: ${server}: ${reason}`, { cause: thrown });
    if (isHandshakeCode(codeText)) return new KubeError("untrusted", `${action}: ${server}: TLS handshake: ${codeText}`, { cause: thrown });
  }
  const text = codeText === "" ? messageOf(thrown) : `connection lost (${codeText})`;
  return new KubeError("lost", `${action}: ${server}: ${text}`, { cause: thrown, isOutcomeUnknown: !isRead(request) });
}
