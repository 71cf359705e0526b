/** Decides what a release changes, by the owners of the addresses and their node. */

import type { Allocation, AllocationOwner } from "../api/ipam-block.ts";
import { CLUSTER_INFORMATION } from "../datastore/cluster-state.ts";
import type { Query, Write } from "../datastore/datastore.ts";
import { type Address, equalAddresses } from "../lib/ip/address.ts";
import { addressAt } from "../lib/ip/prefix.ts";
import { release } from "./block.ts";
import { expectNotFrozen, IPAM_CONFIGURATION, momentOf } from "./cluster.ts";
import { blocksWithAddressesOf, NO_DRAFT, toBlockWrites, withBlock } from "./draft.ts";
import type { Facts } from "./facts.ts";

/** An address that was released. */
export interface ReleasedAddress {
  readonly address: Address;
  readonly owner: AllocationOwner;
}

/** What one commit takes away. */
export interface ReleasePlan {
  readonly released: readonly ReleasedAddress[];
  /** With the conditions under which they are right; none when there is nothing to take away. */
  readonly writes: readonly Write[];
  /** False: there is more, in further blocks. Plan again when this is committed. */
  readonly isAll: boolean;
}

/** What a release on a node is certain to ask for. */
export function releaseQueries(node: string): readonly Query[] {
  return [CLUSTER_INFORMATION, IPAM_CONFIGURATION, { type: "blocks-of-node", node }, { type: "blocks-borrowed-by", node }];
}

/** Most blocks that one release changes, so that etcd takes it at once; an attachment seldom has addresses in more than two. */
const MAX_BLOCKS = 16;

/**
 * Plans the release of this node's allocations in its own blocks and in those that it borrows from. One plan changes a limited number of
 * blocks: the first that have such allocations.
 *
 * @param isTarget says of an owner whether its allocations are released
 * @param now seconds since 1970
 * @param only these addresses. @default all
 * @throws {NetplugError} tryAgainLater when nothing at all may be written
 * @throws {FactsWanted} what must be read first
 */
export function planReleaseOf(
  isTarget: (owner: AllocationOwner) => boolean,
  node: string,
  facts: Facts,
  now: number,
  only?: readonly Address[],
): ReleasePlan {
  const notFrozen = expectNotFrozen(facts);
  const moment = momentOf(facts, now);
  const released: ReleasedAddress[] = [];
  let draft = NO_DRAFT;
  let isAll = true;
  for (const { stored, block } of blocksWithAddressesOf(facts, draft, node)) {
    const isMeant = (ordinal: number): boolean => only?.some((one) => equalAddresses(one, addressAt(block.cidr, ordinal))) ?? true;
    const result = release(block, ({ owner, ordinal }: Allocation) => owner.node === node && isTarget(owner) && isMeant(ordinal), moment);
    if (result.released.length === 0) continue;
    if (draft.size === MAX_BLOCKS) {
      isAll = false;
      break;
    }
    draft = withBlock(draft, stored, result.block);
    for (const { ordinal, owner } of result.released) released.push({ address: addressAt(block.cidr, ordinal), owner });
  }
  return { released, writes: released.length === 0 ? [] : [notFrozen, ...toBlockWrites(draft)], isAll };
}
