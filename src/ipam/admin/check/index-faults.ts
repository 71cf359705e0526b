/**
 * Compares the blocks with the index entries by which they are found without being read. A datastore without such entries answers from the
 * blocks or their labels, and has no faults.
 */

import type { Block, BlockRef } from "../../../api/ipam-block.ts";
import { nextOrdinalsOf, type SpareBlock } from "../../../api/ipam-block-spare.ts";
import type { Answer, Datastore, QueryOf, Stored } from "../../../datastore/datastore.ts";
import { baseOf, comparePrefixes, equalPrefixes, type Prefix, toPrefixText } from "../../../lib/ip/prefix.ts";
import { quote } from "../../../lib/quote.ts";
import { type AllBlocks, EVERYWHERE, keyOf, pagesOf } from "../blocks/blocks.ts";
import { DamageList } from "../blocks/damage-list.ts";

/** An entry that is missing, or says something else than the block. */
export interface IndexFault {
  readonly cidr: Prefix;
  readonly detail: string;
}

/** No cluster has more empty blocks; this query cannot be read in pages. */
const ALL = 1_000_000;
const NODES_PER_READ = 64;
/** More would take so long that a block which is in use changes meanwhile. */
const SUSPECTS_PER_READ = 64;

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
  const withoutClaim = new Set(unclaimed.map(keyOf));
  const blocks = recorded.filter((block) => !withoutClaim.has(keyOf(block)));
  const everybody = [...new Set([...nodes, ...lendersOf(blocks).keys(), ...blocks.map(({ node }) => node)])].sort();
  const spare = (await Array.fromAsync(pagesOf(datastore, "spare-blocks", damage))).flat();
  const empty = (await readWithin(datastore, "empty-blocks", EVERYWHERE, damage)).flat();
  const borrowed = await readBorrowedBlocks(datastore, everybody, damage);
  const suspects = faultsIn(blocks, { spare, empty, borrowed });
  const borrowers = borrowersOf(lendersOf(blocks), borrowed);
  const damaged = new Set(damage.ofBlocks.map(({ cidr }) => (cidr === undefined ? "" : toPrefixText(cidr))));
  const cidrs = new Map(suspects.map(({ cidr }) => [toPrefixText(cidr), cidr]));
  const undamaged = [...cidrs].filter(([text]) => !damaged.has(text));
  const faults = await findAtRest(
    datastore,
    undamaged.map(([text, cidr]) => ({ cidr, borrowers: borrowers.get(text) ?? new Set() })),
  );
  return [...faults].sort((a, b) => comparePrefixes(a.cidr, b.cidr));
}

/** A block whose entries seem to be wrong. */
interface Suspect {
  readonly cidr: Prefix;
  /** Nodes that borrow of it, or seem to: a cluster has too many to ask all of them for each block. */
  readonly borrowers: ReadonlySet<string>;
}

/** Many are asked for together, for all entries of a list may be gone. */
async function findAtRest(datastore: Datastore, suspects: readonly Suspect[]): Promise<readonly IndexFault[]> {
  const faults: IndexFault[] = [];
  for (let from = 0; from < suspects.length; from += SUSPECTS_PER_READ) {
    let left = suspects.slice(from, from + SUSPECTS_PER_READ);
    for (let looks = 0; looks < LOOKS && left.length > 0; looks++) {
      const seen = await lookAt(datastore, left);
      faults.push(...seen.flatMap((one) => (one.isAtRest ? one.faults : [])));
      left = seen.flatMap((one) => (one.isAtRest || one.faults.length === 0 ? [] : [one.suspect]));
    }
  }
  return faults;
}

/** Faults of each block, and whether it was the same before and after. */
async function lookAt(
  datastore: Datastore,
  suspects: readonly Suspect[],
): Promise<readonly { readonly suspect: Suspect; readonly faults: readonly IndexFault[]; readonly isAtRest: boolean }[]> {
  const damage = new DamageList();
  const cidrs = suspects.map(({ cidr }) => cidr);
  const before = await readClaimed(datastore, cidrs, damage);
  const spare = await readWithin(datastore, "spare-blocks", cidrs, damage);
  const empty = await readWithin(datastore, "empty-blocks", cidrs, damage);
  const everybody = [...new Set(suspects.flatMap(({ borrowers }) => [...borrowers]))];
  const borrowed = await readBorrowedBlocks(datastore, everybody, damage);
  const after = await readClaimed(datastore, cidrs, damage);
  return suspects.map((suspect, at) => {
    const isThis = (ref: BlockRef): boolean => equalPrefixes(ref.cidr, suspect.cidr);
    const lent = [...suspect.borrowers].sort().map((node) => [node, (borrowed.get(node) ?? []).filter(isThis)] as const);
    const lists = { spare: spare[at]?.filter(isThis) ?? [], empty: empty[at]?.filter(isThis) ?? [], borrowed: new Map(lent) };
    const block = before[at];
    const faults = faultsIn(block === undefined ? [] : [block.value], lists);
    return { suspect, faults, isAtRest: block?.revision === after[at]?.revision };
  });
}

/** The claimed block of each CIDR. */
async function readClaimed(
  datastore: Datastore,
  cidrs: readonly Prefix[],
  damage: DamageList,
): Promise<readonly (Stored<Block> | undefined)[]> {
  const claims = await datastore.read(
    // Blocks that begin before this one are others.
    cidrs.map((within): QueryOf<"claimed-blocks"> => ({ type: "claimed-blocks", within, from: baseOf(within), limit: ALL })),
    damage,
  );
  const refs = cidrs.map((cidr, at) => claims[at]?.find((claim) => equalPrefixes(claim.cidr, cidr)));
  const found = refs.filter((ref) => ref !== undefined);
  const stored = await datastore.read(
    found.map((ref): QueryOf<"block"> => ({ type: "block", ref })),
    damage,
  );
  const byRef = new Map(found.map((ref, at) => [ref, stored[at]]));
  return refs.map((ref) => ref && byRef.get(ref));
}

async function readWithin<T extends "spare-blocks" | "empty-blocks">(
  datastore: Datastore,
  type: T,
  cidrs: readonly Prefix[],
  damage: DamageList,
): Promise<readonly Answer<QueryOf<T>>[]> {
  const queries = cidrs.map((within) => ({ type, within, limit: ALL }) as QueryOf<T>);
  return await datastore.read(queries, damage);
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
