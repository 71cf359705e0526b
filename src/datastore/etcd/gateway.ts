/** etcd's JSON gateway over `fetch`: costs nothing to load, and the first request of a process is cheap. */

import { EtcdFailure, STATUS } from "./failure.ts";
import { toFailure } from "./fetch-failure.ts";
import { decodeRead, decodeWrite, encodeRead, encodeWrite } from "./gateway-json.ts";
import { Sessions } from "./sessions.ts";
import type { Target, Transport } from "./transport.ts";

export function createGateway(): Transport {
  const sessions = new Sessions();
  const post = async (path: string, body: string, target: Target): Promise<string> => {
    const response = await send(sessions, path, body, target);
    try {
      return await response.text();
    } catch (thrown) {
      throw toFailure(thrown, true);
    }
  };
  return {
    async read(request, target) {
      return decode(decodeRead, await post("/v3/kv/txn", encodeRead(request), target));
    },
    async write(request, target) {
      return decode(decodeWrite, await post("/v3/kv/txn", encodeWrite(request), target));
    },
    async authenticate(name, password, target) {
      const body = await post("/v3/auth/authenticate", JSON.stringify({ name, password }), target);
      return decode((text) => (JSON.parse(text) as { token: string }).token, body);
    },
    async *watch(ranges, target) {
      const { encodeWatch, readWatch } = await import("./gateway-watch.ts");
      yield* readWatch(await send(sessions, "/v3/watch", encodeWatch(ranges), target));
    },
    close: () => sessions.close(),
  };
}

/** Sends one request; the body of the reply is not read yet. */
async function send(sessions: Sessions, path: string, body: string, { endpoint, token, tls, signal }: Target): Promise<Response> {
  const headers: Record<string, string> = { "content-type": "application/json", "grpc-metadata-hasleader": "true" };
  if (token !== undefined) headers["authorization"] = token;
  let response: Response;
  try {
    response = await fetch(endpoint + path, { method: "POST", body, headers, signal, redirect: "error", session: sessions.for(tls) });
  } catch (thrown) {
    throw toFailure(thrown);
  }
  if (response.ok) return response;
  throw toRefusal(response.status, await response.text().catch(() => ""));
}

function decode<T>(decoder: (body: string) => T, body: string): T {
  try {
    return decoder(body);
  } catch (cause) {
    throw new EtcdFailure("lost", "the reply is not etcd's JSON", 0, cause);
  }
}

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
  // The gateway is a client of its own server, and its certificate is not always one for clients. All these texts are from before a
  // connection stands, so nothing was asked.
  if (code === STATUS.unavailable && /handshake failed|bad certificate|preface|^connection closed$/.test(text)) {
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
