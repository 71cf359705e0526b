/** The part of etcd's Watch API that we use. */

import type { KeyValue } from "./rpc.ts";

/** The keys of one watch, from `key` (inclusive) to `end` (exclusive). */
export interface WatchRange {
  readonly key: string;
  readonly end: string;
  /** First revision that is wanted. */
  readonly startRevision: bigint;
}

/** What became of one key, at which revision. */
export type KeyEvent =
  | { readonly type: "put"; readonly kv: KeyValue; readonly modRevision: bigint }
  | { readonly type: "delete"; readonly key: string; readonly modRevision: bigint };

/** One message of the stream, which is about one range. */
export interface WatchReply {
  /** Index of the range among those asked for. */
  readonly range: number;
  /** The server's revision when it sent this; without events, everything up to it was reported. */
  readonly revision: bigint;
  readonly events: readonly KeyEvent[];
  /** First answer to a range: the watch is created. */
  readonly created: boolean;
  /** The server ends this watch. */
  readonly canceled: boolean;
  /** Why, when it says so. */
  readonly cancelReason: string;
  /** The wanted revisions are gone. */
  readonly compacted: boolean;
}
