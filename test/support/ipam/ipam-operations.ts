/** For tests: address management carried out by itself, as nobody else does: an ADD and a DEL commit endpoints besides. */

import type { AllocationOwner, AttachmentId } from "../../../src/api/ipam-block.ts";
import { type AllocationOutcome, allocationQueries, planAllocation } from "../../../src/ipam/plan-allocation.ts";
import { isSameAttachment } from "../../../src/ipam/block.ts";
import { findStaleOwners, type GarbageScope } from "../../../src/ipam/gc.ts";
import { planReleaseOf, type ReleasedAddress, releaseQueries } from "../../../src/ipam/plan-release.ts";
import type { AddressRequest } from "../../../src/ipam/request.ts";
import { transact, type TransactPorts } from "../../../src/ipam/transact/transact.ts";

/**
 * Gives addresses to several attachments with one commit; each is all or nothing, and one that fails does not stop the others.
 *
 * @returns outcomes by position of the request
 */
export async function allocateAll(ports: TransactPorts, requests: readonly AddressRequest[]): Promise<readonly AllocationOutcome[]> {
  return await transact(ports, allocationQueries(requests), (known, attempt) => {
    const plan = planAllocation(requests, known, attempt);
    return { writes: plan.writes, result: plan.outcomes };
  });
}

/** Releases every address of an attachment. @returns what was released; nothing when it had nothing */
export async function releaseAttachment(ports: TransactPorts, id: AttachmentId, node: string): Promise<readonly ReleasedAddress[]> {
  return await releaseAll(ports, (owner) => isSameAttachment(owner, id), node);
}

/** Releases every address of a node and network that belongs to no valid attachment. */
export async function releaseStale(ports: TransactPorts, scope: GarbageScope): Promise<readonly ReleasedAddress[]> {
  const stale = await findStaleOwners(ports, scope);
  return await releaseAll(ports, (owner) => stale.some((one) => isSameAttachment(owner, one)), scope.node);
}

async function releaseAll(
  ports: TransactPorts,
  isTarget: (owner: AllocationOwner) => boolean,
  node: string,
): Promise<readonly ReleasedAddress[]> {
  const all: ReleasedAddress[] = [];
  for (;;) {
    const { released, isAll } = await transact(ports, releaseQueries(node), (facts, { now }) => {
      const plan = planReleaseOf(isTarget, node, facts, now);
      return { writes: plan.writes, result: plan };
    });
    all.push(...released);
    if (isAll) return all;
  }
}
