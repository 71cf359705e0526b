/** Answers that go past what cannot be read: for administration, which names all that is wrong. */

import { messageOf } from "../../../lib/errors.ts";
import type { Damage, Query } from "../../datastore.ts";
import { cidrOfIndexKey, parseBlockKey } from "../layout/keys.ts";
import { toKeyText } from "../layout/records.ts";
import type { KeyValue, RangeReply } from "../protocol/rpc.ts";
import type { QueryPlan } from "./queries.ts";

/** A plan whose answer leaves out what cannot be read, and tells of it. */
export function pastDamage({ ranges, toAnswer }: QueryPlan, query: Query | undefined, onDamage: (damage: Damage) => void): QueryPlan {
  /** A plan converts each key by itself, so it can be asked about one. */
  const isSound = (reply: RangeReply, kv: KeyValue): boolean => {
    try {
      toAnswer([{ ...reply, kvs: [kv] }]);
      return true;
    } catch (thrown) {
      onDamage(toDamage(kv.key, query, messageOf(thrown)));
      return false;
    }
  };
  return {
    ranges,
    toAnswer(replies) {
      try {
        return toAnswer(replies);
      } catch {
        return toAnswer(replies.map((reply) => ({ ...reply, kvs: reply.kvs.filter((kv) => isSound(reply, kv)) })));
      }
    },
  };
}

function toDamage(key: string, query: Query | undefined, reason: string): Damage {
  const found = { name: toKeyText(key), reason, isAnswered: false };
  if (query?.type === "get") return { kind: query.ref.kind, ...found };
  if (query?.type === "list") return { kind: query.kind, ...found };
  const block = parseBlockKey(key);
  if (block !== undefined) return { kind: "IPAMBlock", ...found, ...block };
  const cidr = cidrOfIndexKey(key);
  return { kind: "IPAMBlock", ...found, ...(cidr !== undefined && { cidr }) };
}
