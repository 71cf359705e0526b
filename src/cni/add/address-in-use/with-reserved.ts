/** A datastore as if some more addresses were reserved. */

import type { IPReservation } from "../../../api/ip-reservation.ts";
import type { Datastore, Query, Revision, Stored } from "../../../datastore/datastore.ts";
import { inFrontOf } from "../../../datastore/in-front-of.ts";

/** @param reservedCIDRs as an IPReservation has them */
export function withReserved(inner: Datastore, reservedCIDRs: readonly string[]): Datastore {
  const value: IPReservation = {
    apiVersion: "netplug.io/v3",
    kind: "IPReservation",
    metadata: { name: "routes-of-this-node" },
    spec: { reservedCIDRs },
  };
  // No commit expects a reservation, so nobody compares its revision.
  const further: Stored<IPReservation> = { value, revision: "" as Revision };
  const extend = <T>(queries: readonly Query[], answers: T): T =>
    // The types of the answers are those of their queries.
    (answers as readonly unknown[]).map((answer, i) => {
      const query = queries[i];
      return query?.type === "list" && query.kind === "IPReservation" ? [...(answer as readonly unknown[]), further] : answer;
    }) as T;
  return inFrontOf(inner, {
    read: async (queries, options) => extend(queries, await inner.read(queries, options)),
    async commit(writes, options) {
      const result = await inner.commit(writes, options);
      return result.committed ? result : { committed: false, current: extend(options?.readOnConflict ?? [], result.current) };
    },
  });
}
