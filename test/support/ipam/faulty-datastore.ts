/** For tests: a datastore with commits that fail on demand, and one that changes while it is read. */

import type { Datastore, Query, Write } from "../../../src/datastore/datastore.ts";
import { inFrontOf } from "../../../src/datastore/in-front-of.ts";
import { OutcomeUnknown } from "../../../src/datastore/outcome-unknown.ts";

/** What happens to the next commit: its reply is lost after or before it is applied, or the caller dies after it. */
export type Fault = "none" | "applied, reply lost" | "not applied, reply lost" | "caller dies";

/** The caller was killed. */
export class Death extends Error {}

/** The next commit fails in the way that {@link next} says. */
export class FaultyDatastore {
  next: Fault = "none";
  readonly datastore: Datastore;

  constructor(inner: Datastore) {
    const commit: Datastore["commit"] = async (writes, options) => {
      const now = this.next;
      this.next = "none";
      if (now === "not applied, reply lost") throw new OutcomeUnknown("commit: the reply never came");
      const result = await inner.commit(writes, options);
      if (now === "applied, reply lost") throw new OutcomeUnknown("commit: the reply never came");
      if (now === "caller dies") throw new Death("killed");
      return result;
    };
    this.datastore = inFrontOf(inner, { commit });
  }
}

/** The same datastore, in which `change` happens after the first answers to queries of this type. */
export function changedAfter(inner: Datastore, type: Query["type"], change: () => Promise<void>, times = 1): Datastore {
  let done = 0;
  const read: Datastore["read"] = async (queries, options) => {
    const answers = await inner.read(queries, options);
    if (done === times || !queries.some((query) => query.type === type)) return answers;
    done++;
    await change();
    return answers;
  };
  return inFrontOf(inner, { read });
}

/** The same datastore, in which `change` happens before the first commits with a write of this kind: after what led to each was read. */
export function changedBefore(
  inner: Datastore,
  op: Write["op"],
  change: (writes: readonly Write[]) => Promise<unknown>,
  times = 1,
): Datastore {
  let done = 0;
  const commit: Datastore["commit"] = async (writes, options) => {
    if (done < times && writes.some((write) => write.op === op)) {
      done++;
      await change(writes);
    }
    return await inner.commit(writes, options);
  };
  return inFrontOf(inner, { commit });
}
