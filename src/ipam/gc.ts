/** Finds addresses of attachments that are gone, and deletes blocks that stay empty. */

import type { AllocationOwner } from "../api/ipam-block.ts";
import { CLUSTER_INFORMATION } from "../datastore/cluster-state.ts";
import type { Query, Write } from "../datastore/datastore.ts";
import type { Prefix } from "../lib/ip/prefix.ts";
import { isEmpty } from "./block.ts";
import { expectNotFrozen, IPAM_CONFIGURATION, momentOf } from "./cluster.ts";
import { blocksWithAddressesOf, NO_DRAFT, ownBlocks } from "./draft.ts";
import { releaseQueries } from "./plan-release.ts";
import { type Attachment, attachmentKeyOf } from "./request.ts";
import { type Decision, transact, type TransactPorts } from "./transact/transact.ts";

/** What a GC may touch, and what it must keep. */
export interface GarbageScope {
  readonly node: string;
  /** `name` of the network config. */
  readonly network: string;
  /** `cni.dev/valid-attachments`. */
  readonly valid: readonly Attachment[];
}

/** Seconds for which a block must have been empty before it is deleted. */
export const EMPTY_BLOCK_SECONDS = 300;

/** Blocks that one commit deletes. */
const BLOCKS_PER_COMMIT = 16;

/**
 * The owners of addresses that belong to no valid attachment of this node and network: once for each of their addresses.
 * They are not released here, because the plugin's GC must undo more than addresses.
 */
export async function findStaleOwners(ports: TransactPorts, scope: GarbageScope): Promise<readonly AllocationOwner[]> {
  const isStale = staleIn(scope);
  return await transact(ports, releaseQueries(scope.node), (facts): Decision<readonly AllocationOwner[]> => {
    const owners = blocksWithAddressesOf(facts, NO_DRAFT, scope.node).flatMap(({ block }) => block.allocations.map(({ owner }) => owner));
    return { writes: [], result: owners.filter(isStale) };
  });
}

/**
 * Deletes the node's blocks that have been empty for five minutes. A block belongs to no network.
 *
 * @returns what was deleted
 */
export async function deleteEmptyBlocks(ports: TransactPorts, node: string): Promise<readonly Prefix[]> {
  const queries: readonly Query[] = [CLUSTER_INFORMATION, IPAM_CONFIGURATION, { type: "blocks-of-node", node }];
  const deleted: Prefix[] = [];
  for (;;) {
    const part = await transact(ports, queries, (facts, { now }): Decision<readonly Prefix[]> => {
      const notFrozen = expectNotFrozen(facts);
      const moment = momentOf(facts, now - EMPTY_BLOCK_SECONDS);
      const empty = ownBlocks(facts, NO_DRAFT, node).filter(({ block }) => isEmpty(block, moment));
      const chosen = empty.slice(0, BLOCKS_PER_COMMIT);
      const deletes = chosen.flatMap(({ stored }): Write[] => (stored === undefined ? [] : [{ op: "delete-block", previous: stored }]));
      return { writes: deletes.length === 0 ? [] : [notFrozen, ...deletes], result: chosen.map(({ block }) => block.cidr) };
    });
    if (part.length === 0) return deleted;
    deleted.push(...part);
  }
}

/** Only attachments of this node and network can be stale. Other nodes that borrow from its blocks do their own GC. */
function staleIn({ node, network, valid }: GarbageScope): (owner: AllocationOwner) => boolean {
  const kept = new Set(valid.map(attachmentKeyOf));
  return (owner) => owner.node === node && owner.network === network && !kept.has(attachmentKeyOf(owner));
}
