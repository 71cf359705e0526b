/** What the JSON gateway says when it refuses. */

import { isJsonObject, tryParseJson } from "../../../../lib/json.ts";
import { EtcdFailure, STATUS } from "../../protocol/failure.ts";

/**
 * Errors of the gateway's own connection to its server, which may refuse the gateway's certificate as a client's. All these texts come before
 * the connection is made, so no request was carried out. The last two come when the server refuses after the handshake, while the client
 * sends its first frames.
 *
 * @see google.golang.org/grpc/internal/transport, newHTTP2Client: errors of an established connection begin otherwise
 */
const BEFORE_CONNECTION = /handshake failed|bad certificate|preface|^connection closed$|^write tcp |^use of closed network connection$/;

/**
 * The gateway's errors are `{"error": text, "message": text, "code": gRPC status}`. Plain text comes from etcd's HTTP server before the
 * gateway: with users and `--client-cert-auth` it refuses a certificate with a common name.
 */
export function toRefusal(httpStatus: number, body: string): EtcdFailure {
  const refusal = tryParseJson(body);
  const { code, message, error } = isJsonObject(refusal) ? refusal : {};
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
