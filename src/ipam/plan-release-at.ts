/** Decides what a release of certain addresses changes, whichever node has them. */

import type { Allocation } from "../api/ipam-block.ts";
import { CLUSTER_INFORMATION } from "../datastore/cluster-state.ts";
import type { Query, Write } from "../datastore/datastore.ts";
import type { Address } from "../lib/ip/address.ts";
import { ordinalOf } from "../lib/ip/prefix.ts";
import { release } from "./block.ts";
import { expectNotFrozen, IPAM_CONFIGURATION, momentOf } from "./cluster.ts";
import { blockAt, lookUpBlock, NO_DRAFT, toBlockWrites, withBlock } from "./draft.ts";
import { type Facts, know } from "./facts.ts";

/** The queries that are certain to be needed to find out who has these addresses, or to release them. */
export function addressQueries(addresses: readonly Address[]): readonly Query[] {
  return [CLUSTER_INFORMATION, IPAM_CONFIGURATION, ...addresses.map((address): Query => ({ type: "block-of-address", address }))];
}

/** What one commit releases. */
export interface ReleaseAtPlan {
  readonly released: readonly Allocation[];
  /** At most one per block, with the conditions under which they are right; none when there is nothing to release. */
  readonly writes: readonly Write[];
}

/**
 * Plans the release of a few addresses, as far as their allocations are those that are meant.
 *
 * @param isTarget says of an allocation whether it is released
 * @param now seconds since 1970
 * @throws {NetplugError} tryAgainLater when nothing at all may be written
 * @throws {FactsWanted} what must be read first
 */
export function planReleaseAt(
  addresses: readonly Address[],
  isTarget: (allocation: Allocation) => boolean,
  facts: Facts,
  now: number,
): ReleaseAtPlan {
  const moment = momentOf(facts, now);
  // All in one round: each further round reads on etcd all again.
  const refs = addresses.flatMap((address) => know(facts, { type: "block-of-address", address }) ?? []);
  for (const ref of refs) blockAt(facts, NO_DRAFT, ref, refs);
  const all: Allocation[] = [];
  let draft = NO_DRAFT;
  for (const address of addresses) {
    const found = lookUpBlock(facts, draft, address);
    if (found === undefined) continue;
    const ordinal = ordinalOf(found.block.cidr, address);
    const { block, released } = release(found.block, (one) => one.ordinal === ordinal && isTarget(one), moment);
    if (released.length === 0) continue;
    draft = withBlock(draft, found.stored, block);
    all.push(...released);
  }
  return { released: all, writes: all.length === 0 ? [] : [expectNotFrozen(facts), ...toBlockWrites(draft)] };
}
