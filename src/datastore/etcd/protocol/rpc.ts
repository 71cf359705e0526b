/** The part of etcd's v3 API that we use, free of any wire format. Keys are ASCII, values text, revisions decimal. */

/** The keys of one range, or one key. */
export interface RangeRequest {
  readonly key: string;
  /** Exclusive; absent: only `key`. */
  readonly end?: string;
  /** Absent: all, fetched in pages. */
  readonly limit?: number;
  readonly keysOnly?: boolean;
  readonly countOnly?: boolean;
}

/** One key as a read or a watch tells it; `modRevision` is what a compare names. */
export interface KeyValue {
  readonly key: string;
  readonly value: string;
  readonly modRevision: string;
}

/** The answer to one {@link RangeRequest}. */
export interface RangeReply {
  readonly kvs: readonly KeyValue[];
  /** Keys in the range, whatever the limit. */
  readonly count: number;
  /** The limit cut something off. */
  readonly more: boolean;
}

/** Holds when the key was last written at `modRevision`; "0": it does not exist. */
export interface Compare {
  readonly key: string;
  readonly modRevision: string;
}

/** One write of a transaction. */
export type Operation =
  { readonly type: "put"; readonly key: string; readonly value: string } | { readonly type: "delete"; readonly key: string };

/** Applies `success` when all comparisons hold, else answers `failure`. No comparison: `success` is empty and `failure` unused. */
export interface WriteRequest {
  readonly compares: readonly Compare[];
  readonly success: readonly Operation[];
  readonly failure: readonly RangeRequest[];
}

/** The answer to a {@link WriteRequest}. */
export interface WriteReply {
  readonly succeeded: boolean;
  readonly revision: string;
  /** Answers to `failure` when it did not succeed. */
  readonly ranges: readonly RangeReply[];
}

/** Ranges that are read in one transaction, so at one revision. */
export interface ReadRequest {
  readonly ranges: readonly RangeRequest[];
  /** Absent: the newest. */
  readonly revision?: string;
}

/** The answers to a {@link ReadRequest}, in its order, all of one revision. */
export interface ReadReply {
  readonly revision: string;
  readonly ranges: readonly RangeReply[];
}
