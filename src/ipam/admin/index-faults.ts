/**
 * Compares the blocks with the index entries by which they are found without being read. A datastore without such entries answers from the
 * blocks, and has no faults.
 */

import type { Block, BlockRef } from "../../api/ipam-block.ts";
import { nextOrdinalsOf, type SpareBlock } from "../../api/ipam-block-spare.ts";
import type { Datastore, Query } from "../../datastore/datastore.ts";
import { comparePrefixes, type Prefix, toPrefixText } from "../../lib/ip/prefix.ts";
import { quote } from "../../lib/quote.ts";
import { type AllBlocks, EVERYWHERE, pagesOf } from "./blocks.ts";
import type { DamageList } from "./damage-list.ts";

/** An entry that is missing, or says something else than the block. */
export interface IndexFault {
  readonly cidr: Prefix;
  readonly detail: string;
}

/** No cluster has so many empty blocks; the query has no place to go on from. */
const ALL = 1_000_000;
const NODES_PER_READ = 64;

/** @param nodes of the cluster, besides those that the blocks name */
export async function findIndexFaults(
  datastore: Datastore,
  { blocks: recorded, unclaimed }: AllBlocks,
  nodes: readonly string[],
  damage: DamageList,
): Promise<readonly IndexFault[]> {
  // Faults of a record or its claim, and all other damage, are reported elsewhere. Blocks without a claim are left out: lists follow claims.
  const isUnclaimed = (block: Block): boolean =>
    unclaimed.some(({ cidr, node }) => node === block.node && toPrefixText(cidr) === toPrefixText(block.cidr));
  const blocks = unclaimed.length === 0 ? recorded : recorded.filter((block) => !isUnclaimed(block));
  const spare = (await Array.fromAsync(pagesOf(datastore, "spare-blocks", damage))).flat();
  const empty = await readEmpty(datastore, damage);
  const lenders = lendersOf(blocks);
  const borrowed = await readBorrowed(
    datastore,
    [...new Set([...nodes, ...lenders.keys(), ...blocks.map(({ node }) => node)])].sort(),
    damage,
  );
  const found = [
    ...compare(
      "blocks with unallocated addresses",
      blocks.filter(({ free }) => free.length > 0),
      spare,
    ),
    ...compare(
      "empty blocks",
      blocks.filter(({ emptySince }) => emptySince !== undefined),
      empty,
    ),
    ...staleNext(blocks, spare),
    ...[...borrowed].flatMap(([node, listed]) => [
      ...compare(`blocks that node ${quote(node)} borrows of`, lenders.get(node) ?? [], listed),
    ]),
  ];
  const damaged = new Set(damage.ofBlocks.map(({ cidr }) => (cidr === undefined ? "" : toPrefixText(cidr))));
  return found.filter(({ cidr }) => !damaged.has(toPrefixText(cidr))).sort((a, b) => comparePrefixes(a.cidr, b.cidr));
}

/** By node: the blocks of others in which it holds addresses. */
function lendersOf(blocks: readonly Block[]): ReadonlyMap<string, readonly BlockRef[]> {
  const lenders = new Map<string, BlockRef[]>();
  for (const block of blocks) {
    const borrowers = new Set(block.allocations.map(({ owner }) => owner.node));
    borrowers.delete(block.node);
    for (const node of borrowers) lenders.set(node, [...(lenders.get(node) ?? []), block]);
  }
  return lenders;
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

async function readEmpty(datastore: Datastore, damage: DamageList): Promise<readonly BlockRef[]> {
  const queries = EVERYWHERE.map((within): Query & { type: "empty-blocks" } => ({ type: "empty-blocks", within, limit: ALL }));
  return (await datastore.read(queries, damage)).flat();
}

async function readBorrowed(
  datastore: Datastore,
  nodes: readonly string[],
  damage: DamageList,
): Promise<ReadonlyMap<string, readonly BlockRef[]>> {
  const borrowed = new Map<string, readonly BlockRef[]>();
  for (let i = 0; i < nodes.length; i += NODES_PER_READ) {
    const some = nodes.slice(i, i + NODES_PER_READ);
    const answers = await datastore.read(
      some.map((node): Query & { type: "blocks-borrowed-by" } => ({ type: "blocks-borrowed-by", node })),
      damage,
    );
    for (const [at, node] of some.entries()) borrowed.set(node, answers[at] ?? []);
  }
  return borrowed;
}
