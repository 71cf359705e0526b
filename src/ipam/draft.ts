/** The blocks of a plan in the making: what was read, with the changes that the plan makes so far. */

import type { Allocation, AttachmentId, Block, BlockRef } from "../api/ipam-block.ts";
import type { Query, Stored, Write } from "../datastore/datastore.ts";
import { addressAt, containsAddress, comparePrefixes, toPrefixText } from "../lib/ip/prefix.ts";
import { type Address, equalAddresses } from "../lib/ip/address.ts";
import { isSameAttachment } from "./block.ts";
import { type Facts, FactsWanted, know } from "./facts.ts";

/** A block in a draft. */
export interface DraftBlock {
  /** As it was read; undefined: the plan claims it. */
  readonly stored: Stored<Block> | undefined;
  readonly block: Block;
}

/** An unchanging set of changed blocks by CIDR: a request that fails leaves the draft of the one before. */
export type Draft = ReadonlyMap<string, DraftBlock>;

/** The draft of a decision that changes no block. */
export const NO_DRAFT: Draft = new Map();

/** An address that an attachment has. */
export interface OwnAllocation {
  readonly from: DraftBlock;
  readonly allocation: Allocation;
}

/** The draft with a block's next state. */
export function withBlock(draft: Draft, stored: Stored<Block> | undefined, block: Block): Draft {
  return new Map(draft).set(toPrefixText(block.cidr), { stored, block });
}

/** A node's own blocks as the draft has them, in address order. */
export function ownBlocks(facts: Facts, draft: Draft, node: string): readonly DraftBlock[] {
  const blocks = new Map<string, DraftBlock>();
  for (const stored of know(facts, { type: "blocks-of-node", node }))
    blocks.set(toPrefixText(stored.value.cidr), { stored, block: stored.value });
  for (const [cidr, drafted] of draft) if (drafted.block.node === node) blocks.set(cidr, drafted);
  return [...blocks.values()].sort((a, b) => comparePrefixes(a.block.cidr, b.block.cidr));
}

/**
 * One block as the draft has it; undefined when it is not at this place any more.
 *
 * @param prefetch blocks that are likely to be needed next
 */
export function blockAt(facts: Facts, draft: Draft, ref: BlockRef, prefetch: readonly BlockRef[] = []): DraftBlock | undefined {
  const drafted = draft.get(toPrefixText(ref.cidr));
  if (drafted !== undefined) return drafted;
  const stored = know(facts, { type: "block", ref }, () => prefetch.map((other): Query => ({ type: "block", ref: other })));
  return stored === undefined ? undefined : { stored, block: stored.value };
}

/** The claimed block that holds an address, which is likely one of a node's own. */
export function blockOfAddress(facts: Facts, draft: Draft, address: Address, node: string): DraftBlock | undefined {
  const near = [...draft.values(), ...ownBlocks(facts, draft, node)].find(({ block }) => containsAddress(block.cidr, address));
  return near ?? lookUpBlock(facts, draft, address);
}

/** The claimed block that holds an address, whichever node owns it. */
export function lookUpBlock(facts: Facts, draft: Draft, address: Address): DraftBlock | undefined {
  const query = { type: "block-of-address", address } as const;
  const ref = know(facts, query);
  if (ref === undefined) return undefined;
  const found = blockAt(facts, draft, ref);
  if (found === undefined) throw new FactsWanted([query, { type: "block", ref }]); // moved to another node, or was deleted, since it was looked up
  return found;
}

/** A node's own blocks, then those of other nodes in which it holds addresses. */
export function blocksWithAddressesOf(facts: Facts, draft: Draft, node: string): readonly DraftBlock[] {
  return [...ownBlocks(facts, draft, node), ...borrowedBlocks(facts, draft, node)];
}

function borrowedBlocks(facts: Facts, draft: Draft, node: string): readonly DraftBlock[] {
  const refs = know(facts, { type: "blocks-borrowed-by", node });
  const blocks = refs.map((ref) => blockAt(facts, draft, ref, refs)).filter((found) => found !== undefined);
  const drafted = [...draft.values()].filter(({ block }) => block.node !== node && !blocks.some((known) => known.block === block));
  return [...blocks, ...drafted];
}

/** Every address of an attachment of a node: in the node's own blocks, then borrowed ones. Other nodes may use the same container IDs. */
export function ownAllocations(facts: Facts, draft: Draft, id: AttachmentId, node: string): readonly OwnAllocation[] {
  const isOfId = (allocation: Allocation): boolean => allocation.owner.node === node && isSameAttachment(allocation.owner, id);
  return blocksWithAddressesOf(facts, draft, node).flatMap((from) =>
    from.block.allocations.filter(isOfId).map((allocation): OwnAllocation => ({ from, allocation })),
  );
}

/** The address of an allocation. */
export function addressOf({ from, allocation }: OwnAllocation): Address {
  return addressAt(from.block.cidr, allocation.ordinal);
}

/** The one of them that is this address. */
export function findAllocation(own: readonly OwnAllocation[], address: Address): OwnAllocation | undefined {
  return own.find((one) => equalAddresses(addressOf(one), address));
}

/** Conditions that blocks are still as they were read, except those that the draft writes. */
export function expectUnwritten(blocks: readonly DraftBlock[], draft: Draft): readonly Write[] {
  const byCidr = new Map(blocks.map(({ stored, block }) => [toPrefixText(block.cidr), stored]));
  return [...byCidr].flatMap(([cidr, previous]): Write[] =>
    previous === undefined || draft.has(cidr) ? [] : [{ op: "expect-block", previous }],
  );
}

/** The writes that make a draft true: one per changed block. */
export function toBlockWrites(draft: Draft): readonly Write[] {
  return [...draft.values()].flatMap(({ stored, block }): Write[] => {
    if (stored === undefined) return [{ op: "create-block", block }];
    return stored.value === block ? [] : [{ op: "update-block", block, previous: stored }];
  });
}
