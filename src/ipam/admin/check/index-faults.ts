/**
 * Compares blocks with the index entries by which they are found without being read. A datastore without such entries answers from the blocks or
 * their labels, and has no faults.
 */

import type { Block, BlockRef } from "../../../api/ipam-block.ts";
import { nextOrdinalsOf, type SpareBlock } from "../../../api/ipam-block-spare.ts";
import { type Prefix, toPrefixText } from "../../../lib/ip/prefix.ts";
import { quote } from "../../../lib/quote.ts";

/** An entry that is missing, or says something else than the block. */
export interface IndexFault {
  readonly cidr: Prefix;
  readonly detail: string;
}

/** Lists of blocks, as they are stored. */
interface Lists {
  readonly spare: readonly SpareBlock[];
  readonly empty: readonly BlockRef[];
  /** By node. */
  readonly borrowed: ReadonlyMap<string, readonly BlockRef[]>;
}

/** What the lists say otherwise than these blocks; a block may appear several times. */
export function faultsIn(blocks: readonly Block[], { spare, empty, borrowed }: Lists): readonly IndexFault[] {
  const withSpare = blocks.filter(({ free }) => free.length > 0);
  const withoutAny = blocks.filter(({ emptySince }) => emptySince !== undefined);
  const inBlocks = borrowedBlocksOf(blocks);
  return [
    ...compare("blocks with unallocated addresses", withSpare, spare),
    ...compare("empty blocks", withoutAny, empty),
    ...staleNext(blocks, spare),
    ...[...borrowed].flatMap(([node, listed]) => [
      ...compare(`blocks that node ${quote(node)} borrows of`, inBlocks.get(node) ?? [], listed),
    ]),
  ];
}

/** By node: the blocks of others in which it holds addresses. */
export function borrowedBlocksOf(blocks: readonly Block[]): ReadonlyMap<string, readonly BlockRef[]> {
  const borrowed = new Map<string, BlockRef[]>();
  for (const block of blocks) {
    const borrowers = new Set(block.allocations.map(({ owner }) => owner.node));
    borrowers.delete(block.node);
    for (const node of borrowers) borrowed.set(node, [...(borrowed.get(node) ?? []), block]);
  }
  return borrowed;
}

/** By CIDR: the nodes that borrow of the block, by what blocks or lists of nodes say. */
export function borrowersOf(...byNode: readonly ReadonlyMap<string, readonly BlockRef[]>[]): ReadonlyMap<string, ReadonlySet<string>> {
  const borrowers = new Map<string, Set<string>>();
  for (const [node, refs] of byNode.flatMap((one) => [...one]))
    for (const { cidr } of refs) borrowers.set(toPrefixText(cidr), (borrowers.get(toPrefixText(cidr)) ?? new Set()).add(node));
  return borrowers;
}

function* compare(index: string, wanted: readonly BlockRef[], listed: readonly BlockRef[]): Generator<IndexFault> {
  const byCidr = new Map(listed.map((entry) => [toPrefixText(entry.cidr), entry]));
  for (const { cidr, node } of wanted) {
    const entry = byCidr.get(toPrefixText(cidr));
    byCidr.delete(toPrefixText(cidr));
    if (entry === undefined) yield { cidr, detail: `the list of ${index} lacks it` };
    else if (entry.node !== node) yield { cidr, detail: `the list of ${index} names node ${quote(entry.node)}, want ${quote(node)}` };
  }
  for (const { cidr, node } of byCidr.values())
    yield { cidr, detail: `the list of ${index} has it for node ${quote(node)}, which is not so` };
}

/** Spare-block entries that differ from their block: an entry that lacks addresses would keep the block from being read. */
function* staleNext(blocks: readonly Block[], listed: readonly SpareBlock[]): Generator<IndexFault> {
  const byCidr = new Map(blocks.map((block) => [toPrefixText(block.cidr), block]));
  for (const { cidr, next } of listed) {
    const block = byCidr.get(toPrefixText(cidr));
    if (block === undefined || block.free.length === 0 || Bun.deepEquals(next, nextOrdinalsOf(block))) continue;
    yield { cidr, detail: "the list of blocks with unallocated addresses says something else of what is next in it" };
  }
}
