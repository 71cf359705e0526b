/** For tests: a datastore whose commits go wrong when they are told to. */

import type { Datastore } from "../../src/datastore/datastore.ts";
import { OutcomeUnknown } from "../../src/datastore/outcome-unknown.ts";

/** What happens to the next commit: its reply is lost after or before it is applied, or the caller dies after it. */
export type Fault = "none" | "applied, reply lost" | "not applied, reply lost" | "caller dies";

/** The caller was killed. */
export class Death extends Error {}

/** A datastore whose next commit goes wrong in the way that is asked for. */
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
    this.datastore = {
      type: inner.type,
      traits: inner.traits,
      requests: inner.requests,
      read: (queries, options) => inner.read(queries, options),
      commit,
      watch: (options) => inner.watch(options),
      close: () => inner.close(),
    };
  }
}
