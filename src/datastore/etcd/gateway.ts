/** etcd's JSON gateway over `fetch`: costs nothing to load, and the process's first request is cheap. */

import { EtcdFailure, STATUS } from "./failure.ts";
import { toFailure } from "./fetch-failure.ts";
import { decodeRead, decodeWrite, encodeRead, encodeWrite } from "./gateway-json.ts";
import type { Target, Transport } from "./transport.ts";

export function createGateway(): Transport {
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
      const { watchGateway } = await import("./gateway-watch.ts");
      yield* watchGateway(ranges, target);
    },
    close() {},
  };
}

/** Sends one request; the reply is not read yet. */
export async function send(path: string, body: string, target: Target): Promise<Response> {
  const { endpoint, token, tls, signal } = target;
  const headers: Record<string, string> = { "content-type": "application/json" };
  if (token !== undefined) headers["authorization"] = token;
  const options: BunFetchRequestInit = { method: "POST", body, headers, signal, redirect: "error" };
  if (tls !== undefined) options.tls = { ca: tls.ca as string[] | undefined, cert: tls.cert, key: tls.key };
  let response: Response;
  try {
    response = await fetch(endpoint + path, options);
  } catch (thrown) {
    throw toFailure(thrown);
  }
  if (response.ok) return response;
  throw toRefusal(response.status, await response.text().catch(() => ""));
}

async function post(path: string, body: string, target: Target): Promise<string> {
  const response = await send(path, body, target);
  try {
    return await response.text();
  } catch (thrown) {
    throw toFailure(thrown, true);
  }
}

function decode<T>(decoder: (body: string) => T, body: string): T {
  try {
    return decoder(body);
  } catch (cause) {
    throw new EtcdFailure("lost", "the reply is not etcd's JSON", 0, cause);
  }
}

/** The gateway's errors: `{"error": text, "message": text, "code": gRPC status}`; anything else is not etcd's. */
export function toRefusal(httpStatus: number, body: string): EtcdFailure {
  try {
    const { code, message, error } = JSON.parse(body) as { code?: unknown; message?: unknown; error?: unknown };
    const text = typeof message === "string" ? message : error;
    if (typeof code === "number" && typeof text === "string") return new EtcdFailure("refused", text, code);
  } catch {
    // Fall through: no JSON.
  }
  if (httpStatus === 404 || httpStatus === 405 || httpStatus === 415) return new EtcdFailure("unsupported", `HTTP status ${httpStatus}, no etcd JSON gateway`);
  return new EtcdFailure("refused", `HTTP status ${httpStatus}`, STATUS.unavailable);
}
