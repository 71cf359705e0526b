/** A datastore in front of another one. */

import type { Datastore } from "./datastore.ts";

/** Does what it is given to do; the rest is done by `inner`. */
export function inFrontOf(inner: Datastore, own: Partial<Pick<Datastore, "read" | "commit" | "close">>): Datastore {
  return {
    type: inner.type,
    traits: inner.traits,
    read: (queries, options) => inner.read(queries, options),
    commit: (writes, options) => inner.commit(writes, options),
    probeCommit: (query, probe) => inner.probeCommit(query, probe),
    watch: (options) => inner.watch(options),
    get requests() {
      return inner.requests;
    },
    close: () => inner.close(),
    ...own,
  };
}
