/** What a process reads again after it has waited for its turn. Loaded only then. */

import { networksOf, type WorkloadEndpoint } from "../../api/workload-endpoint.ts";
import type { Query } from "../../datastore/datastore.ts";
import type { Facts } from "../facts.ts";
import type { OwnTurn, TurnPorts } from "./node-turn.ts";

/**
 * After a wait this long, the resources that commits have conditions on are read again beside the blocks. Otherwise the commit would read
 * them in a round of its own: it does so when they are 5 s old.
 */
const OUT_OF_DATE_MS = 3_000;

/** After a wait this long, reservations, settings and the node are read again, too. */
const ALL_OUT_OF_DATE_MS = 10_000;

/**
 * What must be read again after a wait: others have changed blocks meanwhile, and taken addresses out of records. Where one request reads one
 * snapshot, and after a long wait, that is everything.
 */
export function outdatedBy(
  { waitedMs }: Pick<OwnTurn, "waitedMs">,
  { datastore }: Pick<TurnPorts, "datastore">,
  queries: readonly Query[],
  facts: Facts,
): readonly Query[] {
  if (datastore.traits.readsOneSnapshot || waitedMs >= ALL_OUT_OF_DATE_MS) return queries;
  return queries.filter((query) => isAboutBlocks(query) || hasAddresses(query, facts) || (waitedMs >= OUT_OF_DATE_MS && isExpected(query)));
}

/** A single pool, too: it is read with the slots of its blocks, and must not be older than they. */
function isAboutBlocks(query: Query): boolean {
  return query.type === "get" ? query.ref.kind === "IPPool" : query.type !== "list";
}

/** Whether the answer is a record with addresses: as long as they look right, no decision writes it, and so no conflict shows that it is old. */
function hasAddresses(query: Query, facts: Facts): boolean {
  if (query.type !== "get" || query.ref.kind !== "WorkloadEndpoint") return false;
  const stored = facts.find(query)?.answer;
  return stored !== undefined && networksOf(stored.value as WorkloadEndpoint).length > 0;
}

/** Whether commits have conditions on the answer. */
function isExpected(query: Query): boolean {
  return query.type === "get" ? query.ref.kind === "ClusterInformation" : query.type === "list" && query.kind === "IPPool";
}
