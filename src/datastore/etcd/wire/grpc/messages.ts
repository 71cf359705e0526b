/**
 * The messages of etcd's API that we use, with the field numbers of its `rpc.proto` and `kv.proto`.
 *
 * @see https://etcd.io/docs/latest/dev-guide/api_reference_v3/
 */

import type {
  Compare,
  KeyValue,
  Operation,
  RangeReply,
  RangeRequest,
  ReadReply,
  ReadRequest,
  WriteReply,
  WriteRequest,
} from "../../protocol/rpc.ts";
import type { KeyEvent, WatchRange, WatchReply } from "../../protocol/watch-rpc.ts";
import { MessageReader, MessageWriter } from "./protobuf.ts";

const COMPARE_TARGET_MOD = 2;
const EVENT_DELETE = 1n;

/** `TxnRequest`. */
export function encodeRead(request: ReadRequest): Uint8Array {
  const txn = new MessageWriter();
  for (const range of request.ranges) txn.message(2, (op) => writeRange(op, range, request.revision));
  return txn.finish();
}

/** `TxnRequest`. */
export function encodeWrite(request: WriteRequest): Uint8Array {
  const txn = new MessageWriter();
  for (const compare of request.compares) txn.message(1, (message) => writeCompare(message, compare));
  for (const operation of request.success) txn.message(2, (op) => writeOperation(op, operation));
  for (const range of request.failure) txn.message(3, (op) => writeRange(op, range));
  return txn.finish();
}

/** `TxnResponse`. */
export function decodeRead(bytes: Uint8Array): ReadReply {
  const reply = new MessageReader(bytes);
  return { revision: readRevision(reply), ranges: readRanges(reply) };
}

/** `TxnResponse`. */
export function decodeWrite(bytes: Uint8Array): WriteReply {
  const reply = new MessageReader(bytes);
  const succeeded = reply.isSet(2);
  return { succeeded, revision: readRevision(reply), ranges: succeeded ? [] : readRanges(reply) };
}

/** `AuthenticateRequest`. */
export function encodeAuthenticate(name: string, password: string): Uint8Array {
  return new MessageWriter().text(1, name).text(2, password).finish();
}

/** The token of an `AuthenticateResponse`. */
export function decodeToken(bytes: Uint8Array): string {
  return new MessageReader(bytes).text(2);
}

/** The errors of a `StatusResponse`. */
export function decodeErrors(bytes: Uint8Array): readonly string[] {
  return new MessageReader(bytes).texts(8);
}

/** `WatchRequest`, asking for a range under the number `index + 1`: with 0 the server would choose one. */
export function encodeWatch(range: WatchRange, index: number): Uint8Array {
  const create = (message: MessageWriter): void => {
    message
      .bytes(1, range.key)
      .bytes(2, range.end)
      .number(3, range.startRevision)
      .number(4, 1)
      .number(7, index + 1);
  };
  return new MessageWriter().message(1, create).finish();
}

/** `WatchResponse`. */
export function decodeWatch(bytes: Uint8Array): WatchReply {
  const reply = new MessageReader(bytes);
  return {
    range: Number(reply.number(2)) - 1,
    revision: reply.message(1).number(3),
    events: reply.messages(11).map(readEvent),
    created: reply.isSet(3),
    canceled: reply.isSet(4),
    cancelReason: reply.text(6),
    compacted: reply.isSet(5),
  };
}

function writeRange(op: MessageWriter, range: RangeRequest, revision?: string): void {
  op.message(1, (message) => {
    message
      .bytes(1, range.key)
      .bytes(2, range.end ?? "")
      .number(3, range.limit ?? 0)
      .number(4, BigInt(revision ?? 0));
    message.number(8, range.keysOnly === true ? 1 : 0).number(9, range.countOnly === true ? 1 : 0);
  });
}

function writeCompare(message: MessageWriter, compare: Compare): void {
  message.number(2, COMPARE_TARGET_MOD).bytes(3, compare.key).number(6, BigInt(compare.modRevision));
}

function writeOperation(op: MessageWriter, operation: Operation): void {
  if (operation.type === "put") op.message(2, (message) => message.bytes(1, operation.key).text(2, operation.value));
  else op.message(3, (message) => message.bytes(1, operation.key));
}

function readRevision(reply: MessageReader): string {
  return String(reply.message(1).number(3));
}

function readRanges(reply: MessageReader): readonly RangeReply[] {
  return reply.messages(3).map((op) => {
    const range = op.message(1);
    return { kvs: range.messages(2).map(readKeyValue), count: Number(range.number(4)), more: range.isSet(3) };
  });
}

function readKeyValue(kv: MessageReader): KeyValue {
  return { key: kv.bytes(1), value: kv.text(5), modRevision: String(kv.number(3)) };
}

function readEvent(event: MessageReader): KeyEvent {
  const kv = readKeyValue(event.message(2));
  const modRevision = BigInt(kv.modRevision);
  return event.number(1) === EVENT_DELETE ? { type: "delete", key: kv.key, modRevision } : { type: "put", kv, modRevision };
}
