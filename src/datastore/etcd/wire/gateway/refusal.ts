/** What the JSON gateway says when it refuses. */

import { EtcdFailure, STATUS } from "../../protocol/failure.ts";

/**
 * The gateway is a client of its own server, and its certificate is not always one for clients. All these texts are from before a
 * connection stands, so nothing was asked; the last two when the server refuses after the handshake, while the client's first frames are on
 * their way: they are bare errors of the client's connection.
 *
 * @see google.golang.org/grpc/internal/transport, newHTTP2Client: errors of a connection that stands begin otherwise
 */
const BEFORE_CONNECTION = /handshake failed|bad certificate|preface|^connection closed$|^write tcp |^use of closed network connection$/;

/**
 * The gateway's errors are `{"error": text, "message": text, "code": gRPC status}`. Text alone comes from what stands before it:
 * with users and `--client-cert-auth`, etcd refuses there whoever shows a certificate with a common name.
 */
export function toRefusal(httpStatus: number, body: string): EtcdFailure {
  const { code, message, error } = parseError(body);
  const text = typeof message === "string" ? message : error;
  if (typeof code !== "number" || typeof text !== "string") {
    const isMissing = httpStatus === 404 || httpStatus === 405 || httpStatus === 415 || body.includes("CommonName");
    return isMissing
      ? new EtcdFailure("unsupported", `HTTP status ${httpStatus}, the JSON gateway does not serve us`)
      : new EtcdFailure("refused", `HTTP status ${httpStatus}`, STATUS.unavailable);
  }
  if (code === STATUS.unavailable && BEFORE_CONNECTION.test(text)) {
    return new EtcdFailure("unsupported", `the JSON gateway cannot reach its own server: ${text}`);
  }
  return new EtcdFailure("refused", text, code);
}

function parseError(body: string): { readonly code?: unknown; readonly message?: unknown; readonly error?: unknown } {
  try {
    const error: unknown = JSON.parse(body);
    return typeof error === "object" && error !== null ? error : {};
  } catch {
    return {};
  }
}
