/**
 * Compares the blocks with the index entries by which they are found without being read. A datastore without such entries answers from the
 * blocks or their labels, and has no faults.
 */

import type { Block, BlockRef } from "../../api/ipam-block.ts";
import { nextOrdinalsOf, type SpareBlock } from "../../api/ipam-block-spare.ts";
import type { Datastore, QueryOf, Stored } from "../../datastore/datastore.ts";
import { comparePrefixes, equalPrefixes, type Prefix, toPrefixText } from "../../lib/ip/prefix.ts";
import { quote } from "../../lib/quote.ts";
import { type AllBlocks, EVERYWHERE, pagesOf } from "./blocks.ts";
import { DamageList } from "./damage-list.ts";

/** An entry that is missing, or says something else than the block. */
export interface IndexFault {
  readonly cidr: Prefix;
  readonly detail: string;
}

/** No cluster has more empty blocks; this query cannot be read in pages. */
const ALL = 1_000_000;
const NODES_PER_READ = 64;

/** How often a block is looked at that changes meanwhile. */
const LOOKS = 10;

/** Lists of blocks, as they are stored. */
interface Lists {
  readonly spare: readonly SpareBlock[];
  readonly empty: readonly BlockRef[];
  /** By node. */
  readonly borrowed: ReadonlyMap<string, readonly BlockRef[]>;
}

/**
 * What differs at first sight may only have been read before and after a change: it counts when the block was the same before its entries
 * were read and after. A block that changes all the time has none.
 *
 * @param nodes of the cluster, besides those that the blocks name
 */
export async function findIndexFaults(
  datastore: Datastore,
  { blocks: recorded, unclaimed }: AllBlocks,
  nodes: readonly string[],
  damage: DamageList,
): Promise<readonly IndexFault[]> {
  // The read of all blocks has told of labels that are wrong; to ask what each node borrows is a list of all blocks for each.
  if (datastore.traits.blocksAreLabelled) return [];
  // Faults of a record or its claim, and all other damage, are reported elsewhere. Blocks without a claim are left out: lists follow claims.
  const isUnclaimed = (block: Block): boolean => unclaimed.some(({ cidr, node }) => node === block.node && equalPrefixes(cidr, block.cidr));
  const blocks = unclaimed.length === 0 ? recorded : recorded.filter((block) => !isUnclaimed(block));
  const everybody = [...new Set([...nodes, ...lendersOf(blocks).keys(), ...blocks.map(({ node }) => node)])].sort();
  const spare = (await Array.fromAsync(pagesOf(datastore, "spare-blocks", damage))).flat();
  const empty = await readEmpty(datastore, EVERYWHERE, damage);
  const borrowed = await readBorrowedBlocks(datastore, everybody, damage);
  const suspects = faultsIn(blocks, { spare, empty, borrowed });
  const borrowers = borrowersOf(lendersOf(blocks), borrowed);
  const damaged = new Set(damage.ofBlocks.map(({ cidr }) => (cidr === undefined ? "" : toPrefixText(cidr))));
  const cidrs = new Map(suspects.map(({ cidr }) => [toPrefixText(cidr), cidr]));
  const faults: IndexFault[] = [];
  for (const [text, cidr] of cidrs)
    if (!damaged.has(text)) faults.push(...(await findAtRest(datastore, cidr, [...(borrowers.get(text) ?? [])].sort())));
  return faults.sort((a, b) => comparePrefixes(a.cidr, b.cidr));
}

/** Faults of one block. @param nodes that borrow of it, or seem to: a cluster has too many to ask all of them for each block */
async function findAtRest(datastore: Datastore, cidr: Prefix, nodes: readonly string[]): Promise<readonly IndexFault[]> {
  const isThis = (ref: BlockRef): boolean => equalPrefixes(ref.cidr, cidr);
  for (let looks = 0; looks < LOOKS; looks++) {
    const damage = new DamageList();
    const before = await readClaimed(datastore, cidr, damage);
    const [spare] = await datastore.read([{ type: "spare-blocks", within: cidr, limit: ALL }], damage);
    const empty = await readEmpty(datastore, [cidr], damage);
    const borrowed = [...(await readBorrowedBlocks(datastore, nodes, damage))].map(([node, refs]) => [node, refs.filter(isThis)] as const);
    const lists = { spare: spare.filter(isThis), empty: empty.filter(isThis), borrowed: new Map(borrowed) };
    const faults = faultsIn(before === undefined ? [] : [before.value], lists);
    if (faults.length === 0) return [];
    const after = await readClaimed(datastore, cidr, damage);
    if (before?.revision === after?.revision) return faults;
  }
  return [];
}

async function readClaimed(datastore: Datastore, cidr: Prefix, damage: DamageList): Promise<Stored<Block> | undefined> {
  const [claims] = await datastore.read([{ type: "claimed-blocks", within: cidr, limit: ALL }], damage);
  const ref = claims.find((claim) => equalPrefixes(claim.cidr, cidr));
  if (ref === undefined) return undefined;
  const [stored] = await datastore.read([{ type: "block", ref }], damage);
  return stored;
}

function faultsIn(blocks: readonly Block[], { spare, empty, borrowed }: Lists): readonly IndexFault[] {
  const lenders = lendersOf(blocks);
  return [
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

/** By CIDR: the nodes that borrow of the block, by what blocks or lists of nodes say. */
function borrowersOf(...byNode: readonly ReadonlyMap<string, readonly BlockRef[]>[]): ReadonlyMap<string, ReadonlySet<string>> {
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

async function readEmpty(datastore: Datastore, prefixes: readonly Prefix[], damage: DamageList): Promise<readonly BlockRef[]> {
  const queries = prefixes.map((within): QueryOf<"empty-blocks"> => ({ type: "empty-blocks", within, limit: ALL }));
  return (await datastore.read(queries, damage)).flat();
}

async function readBorrowedBlocks(
  datastore: Datastore,
  nodes: readonly string[],
  damage: DamageList,
): Promise<ReadonlyMap<string, readonly BlockRef[]>> {
  const borrowed = new Map<string, readonly BlockRef[]>();
  for (let i = 0; i < nodes.length; i += NODES_PER_READ) {
    const some = nodes.slice(i, i + NODES_PER_READ);
    const answers = await datastore.read(
      some.map((node): QueryOf<"blocks-borrowed-by"> => ({ type: "blocks-borrowed-by", node })),
      damage,
    );
    for (const [at, node] of some.entries()) borrowed.set(node, answers[at] ?? []);
  }
  return borrowed;
}
