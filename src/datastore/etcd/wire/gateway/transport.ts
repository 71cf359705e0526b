/** etcd's JSON gateway: over `fetch`, or over sockets of our own where a process has them. */

import { codeOf } from "../../../../lib/fetch-fault.ts";
import { EtcdFailure } from "../../protocol/failure.ts";
import { toFailure } from "../fetch-failure.ts";
import { Sessions } from "../sessions.ts";
import type { Target, Transport } from "../transport.ts";
import { decodeRead, decodeWrite, encodeRead, encodeWrite } from "./json.ts";
import { PlainHttp } from "./plain-http.ts";
import { toRefusal } from "./refusal.ts";

/** @param plainHttp for endpoints that it serves */
export function createGateway(plainHttp?: PlainHttp): Transport {
  const sessions = new Sessions();
  const post = async (path: string, body: string, target: Target): Promise<string> => {
    if (plainHttp !== undefined && PlainHttp.serves(target.endpoint)) return await postPlainly(plainHttp, path, body, target);
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
    async alarms(target) {
      const body = await post("/v3/maintenance/status", "{}", target);
      return decode((text) => (JSON.parse(text) as { errors?: readonly string[] }).errors ?? [], body);
    },
    async *watch(ranges, target) {
      const { encodeWatch, readWatch } = await import("./watch.ts");
      yield* readWatch(await send(sessions, "/v3/watch", encodeWatch(ranges), target));
    },
    close() {
      plainHttp?.close();
      sessions.close();
    },
  };
}

function headersOf({ token }: Target): Readonly<Record<string, string>> {
  const headers = { "content-type": "application/json", "grpc-metadata-hasleader": "true" };
  return token === undefined ? headers : { ...headers, authorization: token };
}

async function postPlainly(plainHttp: PlainHttp, path: string, body: string, target: Target): Promise<string> {
  const { endpoint, signal } = target;
  const reply = await plainHttp.post({ endpoint, path, headers: headersOf(target), body, signal });
  if (reply.status === 200) return reply.body;
  throw toRefusal(reply.status, reply.body);
}

/** Sends one request; the body of the reply is not read yet. */
async function send(sessions: Sessions, path: string, body: string, target: Target): Promise<Response> {
  const { endpoint, tls, signal } = target;
  const headers = headersOf(target);
  const connections = sessions.for(tls);
  let response: Response;
  try {
    const { session } = connections;
    // A variable could have it print the password.
    response = await fetch(endpoint + path, { method: "POST", body, headers, signal, redirect: "error", session, verbose: false });
    connections.hasReplied = true;
  } catch (thrown) {
    // So `fetch` calls a handshake that fails, and a reply that cannot be decrypted.
    throw toFailure(thrown, connections.hasReplied && codeOf(thrown) === "EPROTO");
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
