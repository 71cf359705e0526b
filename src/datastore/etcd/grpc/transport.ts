/** etcd's own gRPC service: the only way on which the name in a client certificate counts as the user. */

import type { Target, Transport } from "../transport.ts";
import { Sessions } from "../sessions.ts";
import type { Connections } from "./connection.ts";
import { fetchUnary, ReasonHidden } from "./fetch-unary.ts";
import { decodeRead, decodeToken, decodeWatch, decodeWrite, encodeAuthenticate, encodeRead, encodeWatch, encodeWrite } from "./messages.ts";

const TXN = "/etcdserverpb.KV/Txn";
const AUTHENTICATE = "/etcdserverpb.Auth/Authenticate";
const WATCH = "/etcdserverpb.Watch/Watch";

/**
 * Asks by `fetch` as long as that goes well, and by `node:http2` from the first refusal on, whose reason `fetch` does not show. What may be
 * asked twice is asked again at once.
 */
export function createGrpcTransport(): Transport {
  const sessions = new Sessions();
  let connections: Connections | undefined;

  const connect = async (): Promise<Connections> => {
    const { Connections } = await import("./connection.ts");
    connections ??= new Connections();
    return connections;
  };

  const call = async (method: string, message: Uint8Array, target: Target, mayRepeat: boolean): Promise<Uint8Array> => {
    if (connections === undefined && target.endpoint.startsWith("https:")) {
      try {
        return await fetchUnary(sessions, method, message, target);
      } catch (thrown) {
        if (!(thrown instanceof ReasonHidden)) throw thrown;
        await connect();
        if (!mayRepeat) throw thrown;
      }
    }
    return await (await connect()).unary(method, message, target);
  };

  return {
    async read(request, target) {
      return decodeRead(await call(TXN, encodeRead(request), target, true));
    },
    async write(request, target) {
      return decodeWrite(await call(TXN, encodeWrite(request), target, false));
    },
    async authenticate(name, password, target) {
      return decodeToken(await call(AUTHENTICATE, encodeAuthenticate(name, password), target, true));
    },
    async *watch(ranges, target) {
      const stream = (await connect()).stream(WATCH, ranges.map(encodeWatch), target, false);
      for await (const message of stream) yield decodeWatch(message);
    },
    close() {
      sessions.close();
      connections?.close();
    },
  };
}
