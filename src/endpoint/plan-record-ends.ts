/** Ends records only, without releasing addresses: the first half of a DEL, for a GC of very many attachments. Pure. */

import type { AllocationOwner } from "../api/ipam-block.ts";
import { CLUSTER_INFORMATION } from "../datastore/cluster-state.ts";
import type { Query, Write } from "../datastore/datastore.ts";
import { expectNotFrozen } from "../ipam/cluster.ts";
import type { Facts } from "../ipam/facts.ts";
import { type DelRequest, endWritesOf, recordsNamedBy } from "./plan-del.ts";

/** A record that ends before the addresses of its owners are released. */
export interface RecordEnd {
  readonly owners: readonly AllocationOwner[];
  readonly write: Write;
}

/** What {@link planRecordEnds} asks for. */
export function recordQueries(owners: readonly AllocationOwner[]): readonly Query[] {
  return [CLUSTER_INFORMATION, ...recordsNamedBy(owners)];
}

/**
 * Plans the ends of the records that the owners' allocations name. Addresses of an owner whose record need not end may be released at once,
 * those of the others after the end is committed.
 *
 * @param facts answers to {@link recordQueries}
 * @returns the ends, and the condition of each commit of some of them
 * @throws {NetplugError} tryAgainLater while nothing at all may be written
 */
export function planRecordEnds(
  owners: readonly AllocationOwner[],
  isTargetRecord: DelRequest["isTargetRecord"],
  facts: Facts,
): { readonly condition: Write; readonly ends: readonly RecordEnd[] } {
  const condition = expectNotFrozen(facts);
  const groups = Map.groupBy(owners, ({ namespace, endpoint }) => `${namespace ?? ""}/${endpoint ?? ""}`);
  const ends = [...groups.values()].flatMap((group) =>
    endWritesOf(recordsNamedBy(group), group, isTargetRecord, facts).map((write): RecordEnd => ({ owners: group, write })),
  );
  return { condition, ends };
}
