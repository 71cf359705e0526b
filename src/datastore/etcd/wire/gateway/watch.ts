/** A watch over the JSON gateway: one request whose reply never ends, one JSON text per line. */

import { readLines } from "../../../../lib/lines.ts";
import { EtcdFailure } from "../../protocol/failure.ts";
import type { KeyEvent, WatchRange, WatchReply } from "../../protocol/watch-rpc.ts";
import { toFailure } from "../fetch-failure.ts";
import { decodeKeyValue, type JsonKeyValue } from "./json.ts";
import { toRefusal } from "./refusal.ts";

interface JsonWatchReply {
  /** Without a revision when the watch is canceled. */
  readonly header: { readonly revision?: string };
  readonly watch_id?: string;
  readonly created?: boolean;
  readonly canceled?: boolean;
  readonly cancel_reason?: string;
  readonly compact_revision?: string;
  readonly events?: readonly { readonly type?: string; readonly kv: JsonKeyValue }[];
}

/** Body of `POST /v3/watch`. */
export function encodeWatch(ranges: readonly WatchRange[]): string {
  return ranges.map(encodeCreate).join("\n");
}

/** The replies to a watch until its connection ends. @throws {EtcdFailure} */
export async function* readWatch(response: Response): AsyncIterable<WatchReply> {
  if (response.body === null) throw new EtcdFailure("lost", "the reply to a watch has no body");
  try {
    for await (const line of readLines(response.body)) yield decodeLine(line);
  } catch (thrown) {
    throw toFailure(thrown, true);
  }
}

/** Watches are numbered by us, from 1: with 0 the server would choose. */
function encodeCreate(range: WatchRange, index: number): string {
  const request = `"key":"${btoa(range.key)}","range_end":"${btoa(range.end)}","start_revision":"${range.startRevision}"`;
  return `{"create_request":{${request},"progress_notify":true,"watch_id":"${index + 1}"}}`;
}

function decodeLine(line: string): WatchReply {
  const { result, error } = JSON.parse(line) as {
    result?: JsonWatchReply;
    error?: { grpc_code?: number; code?: number; message?: string };
  };
  if (result === undefined) throw toRefusal(200, JSON.stringify({ code: error?.grpc_code ?? error?.code, message: error?.message }));
  return {
    range: Number(result.watch_id ?? 0) - 1,
    revision: BigInt(result.header.revision ?? 0),
    events: (result.events ?? []).map(decodeEvent),
    created: result.created === true,
    canceled: result.canceled === true,
    cancelReason: result.cancel_reason ?? "",
    compacted: result.compact_revision !== undefined && result.compact_revision !== "0",
  };
}

function decodeEvent({ type, kv }: { readonly type?: string; readonly kv: JsonKeyValue }): KeyEvent {
  const decoded = decodeKeyValue(kv);
  const modRevision = BigInt(decoded.modRevision);
  return type === "DELETE" ? { type: "delete", key: decoded.key, modRevision } : { type: "put", kv: decoded, modRevision };
}
