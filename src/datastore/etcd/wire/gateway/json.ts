/** Requests and replies in the JSON of etcd's gateway: snake case, base64 for bytes, text for 64-bit numbers, zero values left out. */

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

/** A key as the gateway writes it; zero values are left out. */
export interface JsonKeyValue {
  readonly key: string;
  readonly value?: string;
  readonly mod_revision?: string;
}

interface JsonRange {
  readonly kvs?: readonly JsonKeyValue[];
  readonly count?: string;
  readonly more?: boolean;
}

interface JsonTxnReply {
  readonly header: { readonly revision: string };
  readonly succeeded?: boolean;
  readonly responses?: readonly { readonly response_range?: JsonRange }[];
}

/** Body of `POST /v3/kv/txn`. */
export function encodeRead(request: ReadRequest): string {
  return `{"success":[${request.ranges.map((range) => encodeRange(range, request.revision)).join(",")}]}`;
}

/** Body of `POST /v3/kv/txn`. */
export function encodeWrite(request: WriteRequest): string {
  const compares = request.compares.map(encodeCompare).join(",");
  const success = request.success.map(encodeOperation).join(",");
  const failure = request.failure.map((range) => encodeRange(range)).join(",");
  return `{"compare":[${compares}],"success":[${success}],"failure":[${failure}]}`;
}

/** Reads the answer to a transaction that only reads. @throws SyntaxError when the body is no JSON */
export function decodeRead(body: string): ReadReply {
  const reply = JSON.parse(body) as JsonTxnReply;
  return { revision: reply.header.revision, ranges: decodeRanges(reply) };
}

/** Reads the answer to a transaction that may have written. @throws SyntaxError when the body is no JSON */
export function decodeWrite(body: string): WriteReply {
  const reply = JSON.parse(body) as JsonTxnReply;
  const succeeded = reply.succeeded === true;
  return { succeeded, revision: reply.header.revision, ranges: succeeded ? [] : decodeRanges(reply) };
}

/** For the watch, too, whose events hold keys in the same form. */
export function decodeKeyValue(kv: JsonKeyValue): KeyValue {
  return { key: atob(kv.key), value: kv.value === undefined ? "" : fromBase64(kv.value), modRevision: kv.mod_revision ?? "0" };
}

/** Without the quotes that base64 never needs to escape, `JSON.stringify` has nothing to do here. */
function encodeRange(range: RangeRequest, revision?: string): string {
  let json = `{"request_range":{"key":"${btoa(range.key)}"`;
  if (range.end !== undefined) json += `,"range_end":"${btoa(range.end)}"`;
  if (range.limit !== undefined) json += `,"limit":"${range.limit}"`;
  if (revision !== undefined) json += `,"revision":"${revision}"`;
  if (range.keysOnly === true) json += `,"keys_only":true`;
  if (range.countOnly === true) json += `,"count_only":true`;
  return `${json}}}`;
}

function encodeCompare(compare: Compare): string {
  return `{"key":"${btoa(compare.key)}","target":"MOD","result":"EQUAL","mod_revision":"${compare.modRevision}"}`;
}

function encodeOperation(operation: Operation): string {
  const key = btoa(operation.key);
  return operation.type === "put"
    ? `{"request_put":{"key":"${key}","value":"${toBase64(operation.value)}"}}`
    : `{"request_delete_range":{"key":"${key}"}}`;
}

function decodeRanges(reply: JsonTxnReply): readonly RangeReply[] {
  return (reply.responses ?? []).map(({ response_range: range = {} }) => ({
    kvs: (range.kvs ?? []).map(decodeKeyValue),
    count: Number(range.count ?? 0),
    more: range.more === true,
  }));
}

/** For text with any characters; keys, which are ASCII, take `btoa`. Natively: a regular expression costs more at the first use. */
function toBase64(text: string): string {
  return new TextEncoder().encode(text).toBase64();
}

function fromBase64(encoded: string): string {
  return new TextDecoder().decode(Uint8Array.fromBase64(encoded));
}
