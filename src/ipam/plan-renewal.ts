/** Decides how an attachment's addresses are allocated to it once more, so that every commit decided on before then fails. */

import type { AllocationOwner, Block } from "../api/ipam-block.ts";
import type { Address } from "../lib/ip/address.ts";
import { expectReady } from "./cluster.ts";
import { findAllocation, NO_DRAFT, ownAllocations, toBlockWrites, withBlock } from "./draft.ts";
import type { Facts } from "./facts.ts";
import type { Decision } from "./transact/transact.ts";

/**
 * Writes each block of these addresses once.
 *
 * @param now seconds since 1970
 * @returns whether the owner has them all; nothing is written when not
 * @throws {NetplugError} notInitialised, tryAgainLater
 * @throws {FactsWanted} what must be read first
 */
export function planRenewal(owner: AllocationOwner, addresses: readonly Address[], facts: Facts, now: number): Decision<boolean> {
  const ready = expectReady(facts);
  let draft = NO_DRAFT;
  for (const address of addresses) {
    const found = findAllocation(ownAllocations(facts, draft, owner, owner.node), address);
    if (found === undefined) return { writes: [], result: false };
    const { stored, block } = found.from;
    draft = withBlock(draft, stored, renew(block, found.allocation.ordinal, now));
  }
  return { writes: [ready, ...toBlockWrites(draft)], result: true };
}

/** Never the same as before: Kubernetes does not count a write that changes nothing. */
function renew(block: Block, ordinal: number, now: number): Block {
  const allocations = block.allocations.map((one) => (one.ordinal === ordinal ? { ...one, since: Math.max(now, one.since + 1) } : one));
  return { ...block, allocations };
}
