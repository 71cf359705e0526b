/** etcd's own gRPC service: for those to whom the JSON gateway does not answer. */

import type { Transport } from "../transport.ts";
import { Connection } from "./connection.ts";
import {
  decodeErrors,
  decodeRead,
  decodeToken,
  decodeWatch,
  decodeWrite,
  encodeAuthenticate,
  encodeRead,
  encodeWatch,
  encodeWrite,
} from "./messages.ts";

const TXN = "/etcdserverpb.KV/Txn";
const AUTHENTICATE = "/etcdserverpb.Auth/Authenticate";
const WATCH = "/etcdserverpb.Watch/Watch";
const STATUS = "/etcdserverpb.Maintenance/Status";

/** For an etcd whose gateway cannot serve us, in CNI calls too: all share one HTTP/2 connection, which is opened with the first request or watch. */
export function createGrpcTransport(): Transport {
  const connection = new Connection();
  return {
    async read(request, target) {
      return decodeRead(await connection.unary(TXN, encodeRead(request), target));
    },
    async write(request, target) {
      return decodeWrite(await connection.unary(TXN, encodeWrite(request), target));
    },
    async authenticate(name, password, target) {
      return decodeToken(await connection.unary(AUTHENTICATE, encodeAuthenticate(name, password), target));
    },
    async alarms(target) {
      return decodeErrors(await connection.unary(STATUS, new Uint8Array(), target));
    },
    async *watch(ranges, target) {
      const stream = connection.stream(WATCH, ranges.map(encodeWatch), target, false);
      for await (const message of stream) yield decodeWatch(message);
    },
    close: () => connection.close(),
  };
}
