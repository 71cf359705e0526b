/**
 * Looks for index entries that say something else than their blocks. What differs at first sight may only have been read before and after a
 * change: it counts when the block was the same before its entries were read and after. A block that changes all the time has no faults.
 */

import type { Block, BlockRef } from "../../../api/ipam-block.ts";
import type { Answer, Answers, Datastore, Query, QueryOf, Stored } from "../../../datastore/datastore.ts";
import { baseOf, comparePrefixes, equalPrefixes, type Prefix, toPrefixText } from "../../../lib/ip/prefix.ts";
import { type AllBlocks, EVERYWHERE, keyOf, pagesOf } from "../blocks/blocks.ts";
import { DamageList } from "../blocks/damage-list.ts";
import { borrowedBlocksOf, borrowersOf, faultsIn, type IndexFault } from "./index-faults.ts";

/** No cluster has more empty blocks; this query cannot be read in pages. */
const ALL = 1_000_000;
const NODES_PER_READ = 64;
/** More would take so long that a block which is in use changes meanwhile. */
const SUSPECTS_PER_READ = 64;

/** How often a block is looked at that changes meanwhile. */
const LOOKS = 10;

/** A block whose entries seem to be wrong. */
interface Suspect {
  readonly cidr: Prefix;
  /** Nodes that borrow of it, or seem to: a cluster has too many to ask all of them for each block. */
  readonly borrowers: ReadonlySet<string>;
}

/** Reads past all damage, which somebody gathers. */
type Read = <const Qs extends readonly Query[]>(queries: Qs) => Promise<Answers<Qs>>;

/** @param nodes of the cluster, besides those that the blocks name */
export async function findIndexFaults(
  datastore: Datastore,
  { blocks: recorded, unclaimed }: AllBlocks,
  nodes: readonly string[],
  damage: DamageList,
): Promise<readonly IndexFault[]> {
  // The read of all blocks has told of labels that are wrong; to ask what each node borrows is a list of all blocks for each.
  if (datastore.traits.blocksAreLabelled) return [];
  const read: Read = (queries) => datastore.read(queries, damage);
  // Faults of a record or its claim, and all other damage, are reported elsewhere. Blocks without a claim are left out: lists follow claims.
  const withoutClaim = new Set(unclaimed.map(keyOf));
  const blocks = recorded.filter((block) => !withoutClaim.has(keyOf(block)));
  const inBlocks = borrowedBlocksOf(blocks);
  const everybody = [...new Set([...nodes, ...inBlocks.keys(), ...blocks.map(({ node }) => node)])].sort();
  const spare = (await Array.fromAsync(pagesOf(datastore, "spare-blocks", damage))).flat();
  const empty = (await readWithin(read, "empty-blocks", EVERYWHERE)).flat();
  const borrowed = await readBorrowedBlocks(read, everybody);
  const borrowers = borrowersOf(inBlocks, borrowed);
  const damaged = new Set(damage.ofBlocks.map(({ cidr }) => (cidr === undefined ? "" : toPrefixText(cidr))));
  const suspects = new Map<string, Suspect>();
  for (const { cidr } of faultsIn(blocks, { spare, empty, borrowed })) {
    const text = toPrefixText(cidr);
    if (!damaged.has(text)) suspects.set(text, { cidr, borrowers: borrowers.get(text) ?? new Set() });
  }
  const faults = await findAtRest(datastore, [...suspects.values()]);
  return faults.toSorted((a, b) => comparePrefixes(a.cidr, b.cidr));
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

/** What one look at a suspect has found. */
interface Look {
  readonly suspect: Suspect;
  readonly faults: readonly IndexFault[];
  /** Whether the block was the same before its entries were read and after. */
  readonly isAtRest: boolean;
}

async function lookAt(datastore: Datastore, suspects: readonly Suspect[]): Promise<readonly Look[]> {
  const damage = new DamageList();
  const read: Read = (queries) => datastore.read(queries, damage);
  const cidrs = suspects.map(({ cidr }) => cidr);
  const before = await readClaimed(read, cidrs);
  const spare = await readWithin(read, "spare-blocks", cidrs);
  const empty = await readWithin(read, "empty-blocks", cidrs);
  const borrowed = await readBorrowedBlocks(read, [...new Set(suspects.flatMap(({ borrowers }) => [...borrowers]))]);
  const after = await readClaimed(read, cidrs);
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
async function readClaimed(read: Read, cidrs: readonly Prefix[]): Promise<readonly (Stored<Block> | undefined)[]> {
  // Blocks that begin before this one are others.
  const claims = await read(
    cidrs.map((within): QueryOf<"claimed-blocks"> => ({ type: "claimed-blocks", within, from: baseOf(within), limit: ALL })),
  );
  const refs = cidrs.map((cidr, at) => claims[at]?.find((claim) => equalPrefixes(claim.cidr, cidr)));
  const found = refs.filter((ref) => ref !== undefined);
  const stored = await read(found.map((ref): QueryOf<"block"> => ({ type: "block", ref })));
  const byRef = new Map(found.map((ref, at) => [ref, stored[at]]));
  return refs.map((ref) => ref && byRef.get(ref));
}

async function readWithin<T extends "spare-blocks" | "empty-blocks">(
  read: Read,
  type: T,
  cidrs: readonly Prefix[],
): Promise<readonly Answer<QueryOf<T>>[]> {
  return await read(cidrs.map((within) => ({ type, within, limit: ALL }) as QueryOf<T>));
}

/** By node. */
async function readBorrowedBlocks(read: Read, nodes: readonly string[]): Promise<ReadonlyMap<string, readonly BlockRef[]>> {
  const borrowed = new Map<string, readonly BlockRef[]>();
  for (let i = 0; i < nodes.length; i += NODES_PER_READ) {
    const some = nodes.slice(i, i + NODES_PER_READ);
    const answers = await read(some.map((node): QueryOf<"blocks-borrowed-by"> => ({ type: "blocks-borrowed-by", node })));
    for (const [at, node] of some.entries()) borrowed.set(node, answers[at] ?? []);
  }
  return borrowed;
}
