/** Allocating an address to the attachment that uses it already: after a datastore was restored that does not know it. */

import type { Allocation, AllocationOwner, Block } from "../../api/ipam-block.ts";
import { CLUSTER_INFORMATION } from "../../datastore/cluster-state.ts";
import type { Query } from "../../datastore/datastore.ts";
import type { Address } from "../../lib/ip/address.ts";
import { containsAddress, ordinalOf, type Prefix, prefixOf, toPrefixText } from "../../lib/ip/prefix.ts";
import { isSameAttachment, moveTo, newBlock, take } from "../block.ts";
import { expectNotFrozen, IP_POOLS } from "../cluster.ts";
import { type DraftBlock, lookUpBlock, NO_DRAFT, toBlockWrites, withBlock } from "../draft.ts";
import { type Facts, know } from "../facts.ts";
import { addressQueries, planReleaseAt } from "../plan-release-at.ts";
import { poolQueryOf, toPoolTable } from "../pools.ts";
import { type Decision, transact, type TransactPorts } from "../transact/transact.ts";

/** What became of one address: `had` it already, `adopted`, `moved` to its user's node from a wrong one, or why it cannot be. */
export type Adoption =
  | { readonly end: "had" | "adopted" | "moved"; /** Moved from the wrong node, too. */ readonly block?: Prefix }
  | { readonly end: "outside-pools" }
  | { readonly holder: Allocation }
  | { readonly overlapped: string };

/**
 * Allocates an address to its user, also while the datastore is locked. Only an administrator may: nobody asks whether the pool permits it.
 *
 * @param insteadOf a name under which the user's node may have the address by mistake. A block of that name follows when nothing in it is
 *   allocated under that name any more: otherwise nobody would use it up
 */
export async function adoptAddress(
  ports: TransactPorts,
  owner: AllocationOwner,
  address: Address,
  insteadOf: string = owner.node,
): Promise<Adoption> {
  let written: Adoption | undefined; // had at the second look, because the reply to our first commit was lost
  const queries: readonly Query[] = [CLUSTER_INFORMATION, IP_POOLS, { type: "block-of-address", address }];
  return await transact(ports, queries, (facts, { now }): Decision<Adoption> => {
    const found = blockFor(owner.node, address, facts, now);
    if ("end" in found || "overlapped" in found) return { writes: [], result: found };
    const { stored, block } = found;
    const ordinal = ordinalOf(block.cidr, address) ?? 0;
    const holder = block.allocations.find((one) => one.ordinal === ordinal);
    const isHeld = holder !== undefined && isAllocatedTo(owner, holder);
    if (holder !== undefined && !isHeld && !isAllocatedTo({ ...owner, node: insteadOf }, holder)) return { writes: [], result: { holder } };
    const adopted = holder === undefined ? take(block, ordinal, owner, now) : isHeld ? block : withNode(block, holder, owner.node);
    const isLeft = block.node === insteadOf && adopted.allocations.every((one) => one.owner.node !== insteadOf);
    const next = isLeft ? moveTo(adopted, owner.node) : adopted;
    if (next === block) return { writes: [], result: written ?? { end: "had" } };
    const end = holder === undefined ? "adopted" : isHeld ? "had" : "moved";
    written = { end, ...(isLeft && { block: block.cidr }) };
    return { writes: [expectNotFrozen(facts), ...toBlockWrites(withBlock(NO_DRAFT, stored, next))], result: written };
  });
}

/** Releases an adopted address, whose user has ended meanwhile: its DEL may have looked for the address just before. */
export async function giveBackAddress(ports: TransactPorts, owner: AllocationOwner, address: Address): Promise<void> {
  await transact(ports, addressQueries([address]), (facts, { now }) => ({
    writes: planReleaseAt([address], (one) => isAllocatedTo(owner, one), facts, now).writes,
    result: undefined,
  }));
}

/** The claimed block around the address, whoever owns it, or a new one of the node. */
function blockFor(
  node: string,
  address: Address,
  facts: Facts,
  now: number,
): DraftBlock | { readonly end: "outside-pools" } | { readonly overlapped: string } {
  const claimed = lookUpBlock(facts, NO_DRAFT, address);
  if (claimed !== undefined) return claimed;
  const around = toPoolTable(know(facts, IP_POOLS)).pools.filter(({ cidr }) => containsAddress(cidr, address));
  const pool = around.find(({ unusable }) => unusable === undefined) ?? around[0];
  if (pool === undefined) return { end: "outside-pools" };
  const cidr = prefixOf(address, pool.blockLength);
  const [other] = know(facts, { type: "claimed-blocks", within: cidr, limit: 1 }, () => [poolQueryOf(pool)]);
  if (other !== undefined) return { overlapped: toPrefixText(other.cidr) };
  return { stored: undefined, block: newBlock(cidr, node, now) };
}

function withNode(block: Block, allocation: Allocation, node: string): Block {
  const moved: Allocation = { ...allocation, owner: { ...allocation.owner, node } };
  return { ...block, allocations: block.allocations.map((one) => (one === allocation ? moved : one)) };
}

function isAllocatedTo(owner: AllocationOwner, allocation: Allocation): boolean {
  return allocation.owner.node === owner.node && isSameAttachment(allocation.owner, owner);
}
