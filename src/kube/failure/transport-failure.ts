/** What `fetch` throws, as failures of ours. */

import { messageOf } from "../../lib/errors.ts";
import { codeOf, isHandshakeCode, whyNeverSent } from "../../lib/fetch-fault.ts";
import { KubeError } from "../kube-error.ts";
import type { KubeRequest } from "../request.ts";
import { isRead, toActionText } from "../request.ts";

const NOT_SIGNED: ReadonlySet<string> = new Set([
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
]);

/** What the commonest other codes of a failed handshake mean, and what to do. */
const HANDSHAKES: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: "its certificate has expired; renew it, or set this machine's clock",
  CERT_NOT_YET_VALID: "its certificate is not valid yet; set this machine's clock, or the server's",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for other names; one of them may be given as tls-server-name",
};

/** The proxy's answer to CONNECT: nothing has reached the API server. */
const PROXY_REFUSED = "ERR_PROXY_TUNNEL";

/** The server's word that it has not looked at the request: it ends the connection, or has too much to do. @see RFC 9113 §8.7 */
const REFUSED_STREAM = "HTTP2RefusedStream";

/** Whether `fetch` could not even begin: the network may be the cause, or what it was given. */
export function isNeverBegun(thrown: unknown): boolean {
  const { code } = thrown as { code?: unknown };
  return thrown instanceof TypeError && (code === undefined || code === "FailedToOpenSocket");
}

/** Whether we know no authority that has signed the server's certificate. */
export function isNotSigned(thrown: unknown): boolean {
  return NOT_SIGNED.has(codeOf(thrown));
}

/** The request that broke off, as far as its message says something of it. */
export interface BrokenRequest {
  readonly request: KubeRequest;
  /** Shown in messages. */
  readonly server: string;
  /** Where the authorities that may sign its certificate are named, for messages. @default the roots of the system */
  readonly authorities?: string | undefined;
  /** Whether the head of the answer had come. */
  readonly isAnswered: boolean;
}

/** @returns the failure that something thrown by `fetch`, or while the body was read, means */
export function toBrokenFailure(thrown: unknown, { request, server, authorities, isAnswered }: BrokenRequest): KubeError {
  if (thrown instanceof KubeError) return thrown;
  const action = toActionText(request);
  const code = codeOf(thrown);
  if (!isAnswered) {
    const reason = code === REFUSED_STREAM ? "it takes no more requests on this connection" : whyNeverSent(code);
    if (reason !== undefined) return new KubeError("unreachable", `${action}: ${server}: ${reason}`, { cause: thrown });
    if (code === PROXY_REFUSED) {
      const said = messageOf(thrown).replace(/^Proxy refused to open a tunnel: /, "");
      return new KubeError("unreachable", `${action}: ${server}: the proxy opens no tunnel, it answers ${said}`, { cause: thrown });
    }
    if (isHandshakeCode(code)) {
      const details = isNotSigned(thrown) ? notSigned(authorities) : HANDSHAKES[code];
      return new KubeError("untrusted", `${action}: ${server}: TLS handshake: ${code}`, { cause: thrown, details });
    }
  }
  const text = code === "" ? messageOf(thrown) : `connection lost (${code})`;
  return new KubeError("lost", `${action}: ${server}: ${text}`, { cause: thrown, isOutcomeUnknown: !isRead(request) });
}

function notSigned(authorities: string | undefined): string {
  const where = authorities === undefined ? "is what certificate-authority must name" : `belongs in ${authorities}`;
  return `no authority that we trust has signed its certificate; its own ${where}`;
}
