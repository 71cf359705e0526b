/** A datastore without its damaged blocks, for whoever can do without them. */

import type { BlockRef } from "../api/ipam-block.ts";
import type { Damage, Datastore, Query } from "./datastore.ts";
import { inFrontOf } from "./in-front-of.ts";
import { NetplugError } from "../lib/errors.ts";
import { toPrefixText } from "../lib/ip/prefix.ts";

/** Callbacks for its requests. */
interface Watched {
  /** Called once for each block. */
  readonly onLeftOut: (cidr: string, reason: string) => void;
  readonly onRead?: (query: Query, answer: unknown) => void;
  /** Stops the commit by throwing. */
  readonly beforeCommit?: () => void;
}

/**
 * The datastore with answers that leave out blocks whose records cannot be read. A read of an address in such a block, and of lists of blocks
 * that cannot be read, rejects with ioFailure.
 */
export function withoutDamaged(inner: Datastore, { onLeftOut, onRead, beforeCommit }: Watched): Datastore {
  const reasons = new Map<string, string>();
  const onDamage = ({ cidr, node, reason, isAnswered }: Damage): void => {
    if (isAnswered) return;
    // Without the lists of blocks nobody knows what is free.
    if (cidr === undefined || node === undefined) throw new NetplugError("ioFailure", reason);
    const text = toPrefixText(cidr);
    if (!reasons.has(text)) onLeftOut(text, reason);
    reasons.set(text, reason);
  };
  const read: Datastore["read"] = async (queries, options) => {
    const answers = await inner.read(queries, { ...options, onDamage, damageOf: "blocks" });
    for (const [i, query] of queries.entries()) {
      const answer: unknown = answers[i];
      const cidr = query.type === "block-of-address" && answer !== undefined ? toPrefixText((answer as BlockRef).cidr) : "";
      const reason = reasons.get(cidr);
      if (reason !== undefined) throw new NetplugError("ioFailure", reason);
      onRead?.(query, answer);
    }
    return answers;
  };
  const commit: Datastore["commit"] = async (writes, { readOnConflict, ...options } = {}) => {
    beforeCommit?.();
    const result = await inner.commit(writes, options);
    if (result.committed) return result;
    // The mapped type cannot follow that no queries have no answers.
    return { committed: false, current: await read(readOnConflict ?? ([] as never), options) };
  };
  return inFrontOf(inner, { read, commit });
}
