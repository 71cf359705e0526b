/** Answers in spite of values that cannot be read: for administration, which names each of them, and for lists of pools. */

import { API_VERSION, type Resource } from "../../../api/resource.ts";
import { messageOf } from "../../../lib/errors.ts";
import type { Damage, Query, ReadOptions, Revision, Stored } from "../../datastore.ts";
import { cidrOfIndexKey, parseBlockKey, parseResourceKey } from "../layout/keys.ts";
import { toKeyText } from "../layout/records.ts";
import type { KeyValue, RangeReply } from "../protocol/rpc.ts";
import type { QueryPlan } from "./queries.ts";

/**
 * The plan, with an answer that leaves out what cannot be read, and reports it to `onDamage`. Without `onDamage` it is the plan as it was, whose
 * answer fails; but a list of pools goes on: see {@link Stored.isUnreadable}.
 */
export function toleratingDamage(plan: QueryPlan, query: Query | undefined, { onDamage, damageOf }: ReadOptions): QueryPlan {
  const isOfResources = query?.type === "get" || query?.type === "list";
  if (onDamage === undefined || (damageOf === "blocks" && isOfResources))
    return query?.type === "list" && query.kind === "IPPool" ? withUnreadablePools(plan) : plan;
  const { ranges, toAnswer } = plan;
  /** A plan converts each key by itself, so it can be asked about one. */
  const isReadable = (reply: RangeReply, kv: KeyValue): boolean => {
    try {
      toAnswer([{ ...reply, kvs: [kv] }]);
      return true;
    } catch (thrown) {
      onDamage(toDamage(kv, query, messageOf(thrown)));
      return false;
    }
  };
  return {
    ranges,
    toAnswer(replies) {
      try {
        return toAnswer(replies);
      } catch {
        return toAnswer(replies.map((reply) => ({ ...reply, kvs: reply.kvs.filter((kv) => isReadable(reply, kv)) })));
      }
    },
  };
}

/** Lists a pool that cannot be read by its name alone; a key that no pool can have is left out. */
function withUnreadablePools({ ranges, toAnswer }: QueryPlan): QueryPlan {
  const toPool = (reply: RangeReply, kv: KeyValue): unknown => {
    try {
      return toAnswer([{ ...reply, kvs: [kv] }]);
    } catch {
      return toUnreadable(kv) ?? [];
    }
  };
  return { ranges, toAnswer: (replies) => replies.flatMap((reply) => reply.kvs.flatMap((kv) => toPool(reply, kv))) };
}

function toUnreadable({ key, modRevision }: KeyValue): Stored<Resource> | undefined {
  const ref = parseResourceKey(key);
  if (ref === undefined) return undefined;
  const { kind, name } = ref;
  const value = { apiVersion: API_VERSION, kind, metadata: { name, resourceVersion: modRevision }, spec: {} };
  return { value, revision: modRevision as Revision, isUnreadable: true };
}

function toDamage({ key, value: text, modRevision }: KeyValue, query: Query | undefined, reason: string): Damage {
  const damage = { name: toKeyText(key), reason, isAnswered: false };
  if (query?.type === "get" || query?.type === "list") {
    const ref = parseResourceKey(key);
    const found = ref === undefined ? {} : { found: { ref, text, revision: modRevision as Revision } };
    return { kind: query.type === "get" ? query.ref.kind : query.kind, ...damage, ...found };
  }
  const block = parseBlockKey(key);
  if (block !== undefined) return { kind: "IPAMBlock", ...damage, ...block };
  const cidr = cidrOfIndexKey(key);
  return { kind: "IPAMBlock", ...damage, ...(cidr !== undefined && { cidr }) };
}
