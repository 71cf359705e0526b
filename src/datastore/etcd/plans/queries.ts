/** Turns each query into ranges of keys, and their replies into its answer. */

import type { BlockRef } from "../../../api/ipam-block.ts";
import { type SpareBlock, toNextOrdinals } from "../../../api/ipam-block-spare.ts";
import { toHostPrefix } from "../../../lib/ip/prefix.ts";
import type { EmptyBlock, NamedBlock, Query, QueryOf } from "../../datastore.ts";
import {
  blockKey,
  blockRange,
  borrowedRange,
  cidrOfIndexKey,
  enclosingBlocks,
  indexKey,
  indexRange,
  type KeyRange,
  parseBlockKey,
  resourceKey,
  resourceRange,
} from "../layout/keys.ts";
import { notOurs, parseValue, toStoredBlock, toStoredResource } from "../layout/records.ts";
import type { KeyValue, RangeReply, RangeRequest } from "../protocol/rpc.ts";

/** What is asked of etcd for one query. */
export interface QueryPlan {
  readonly ranges: readonly RangeRequest[];
  /** Makes the answer from the replies to `ranges`, in their order. */
  readonly toAnswer: (replies: readonly RangeReply[]) => unknown;
}

/** The ranges that a query needs, and its answer from them. */
export function planQuery(query: Query): QueryPlan {
  switch (query.type) {
    case "get":
      return planOne(resourceKey(query.ref), toStoredResource);
    case "list":
      return planMany(resourceRange(query.kind, query.namespace), toStoredResource);
    case "block":
      return planOne(blockKey(query.ref), toStoredBlock);
    case "blocks-of-node":
      // A key that no block can have belongs to no node.
      return {
        ranges: [blockRange(query.node)],
        toAnswer: (replies) =>
          kvsOf(replies)
            .filter(({ key }) => parseBlockKey(key) !== undefined)
            .map(toStoredBlock),
      };
    case "all-blocks":
      return planMany(blockRange(), toStoredBlock);
    case "block-page":
      return { ranges: [blockRange()], toAnswer: (replies) => ({ blocks: kvsOf(replies).map(toStoredBlock) }) };
    case "block-names":
      return {
        ranges: [{ ...blockRange(), keysOnly: true }],
        toAnswer: (replies) => kvsOf(replies).map(({ key }): NamedBlock => ({ name: key, ref: parseBlockKey(key) })),
      };
    case "blocks-borrowed-by":
      return planMany(borrowedRange(query.node), toBlockRef);
    case "block-of-address": {
      const host = toHostPrefix(query.address);
      const candidates = [host, ...enclosingBlocks(host)];
      return {
        ranges: candidates.map((cidr) => ({ key: indexKey("claims", cidr) })),
        toAnswer: (replies) => kvsOf(replies).map(toBlockRef)[0],
      };
    }
    case "count-blocks":
      return {
        ranges: [{ ...indexRange("claims", query.within), countOnly: true }],
        toAnswer: (replies) => replies.reduce((sum, reply) => sum + reply.count, 0),
      };
    case "claimed-blocks":
      return planClaimedBlocks(query);
    case "empty-blocks":
      return planMany(indexRange("empty", query.within), toEmptyBlock, query.limit);
    case "spare-blocks":
      return planMany(indexRange("spare", query.within, query.from?.value), toSpareBlock, query.limit);
  }
}

/** Blocks inside are one range; a block that encloses the prefix is asked for by each key that it could have. */
function planClaimedBlocks(query: QueryOf<"claimed-blocks">): QueryPlan {
  const { within, from, limit } = query;
  const enclosing = enclosingBlocks(within)
    .filter((cidr) => from === undefined || cidr.base >= from.value)
    .map((cidr) => ({ key: indexKey("claims", cidr) }))
    .reverse();
  return {
    ranges: [...enclosing, { ...indexRange("claims", within, from?.value), limit }],
    toAnswer: (replies) => kvsOf(replies).slice(0, limit).map(toBlockRef),
  };
}

function planOne<T>(key: string, convert: (kv: KeyValue) => T): QueryPlan {
  return { ranges: [{ key }], toAnswer: (replies) => kvsOf(replies).map(convert)[0] };
}

function planMany<T>(range: KeyRange, convert: (kv: KeyValue) => T, limit?: number): QueryPlan {
  return { ranges: [limit === undefined ? range : { ...range, limit }], toAnswer: (replies) => kvsOf(replies).map(convert) };
}

function kvsOf(replies: readonly RangeReply[]): readonly KeyValue[] {
  const [only] = replies;
  return replies.length === 1 && only !== undefined ? only.kvs : replies.flatMap((reply) => reply.kvs);
}

function toBlockRef(kv: KeyValue): BlockRef {
  const { cidr, node } = parseIndexEntry(kv);
  return { cidr, node };
}

function toEmptyBlock(kv: KeyValue): EmptyBlock {
  const { cidr, node, since } = parseIndexEntry(kv);
  return { cidr, node, since };
}

function toSpareBlock(kv: KeyValue): SpareBlock {
  const { cidr, node, value } = parseIndexEntry(kv);
  const next = toNextOrdinals((value as { next?: unknown }).next);
  return next === undefined ? { cidr, node } : { cidr, node, next };
}

function parseIndexEntry(kv: KeyValue): EmptyBlock & { readonly value: object } {
  const cidr = cidrOfIndexKey(kv.key);
  const value = parseValue(kv);
  const { node, since = 0 } = value as { node?: unknown; since?: unknown };
  if (cidr === undefined || typeof node !== "string" || typeof since !== "number") throw notOurs(kv.key);
  return { cidr, node, since, value };
}
