/** Reads every block of the cluster, and every claim, past all damage. */

import type { SpareBlock } from "../../../api/ipam-block-spare.ts";
import type { Block, BlockRef } from "../../../api/ipam-block.ts";
import type { BlockPage, BlockPageStart, Damage, Datastore, NamedBlock, QueryOf } from "../../../datastore/datastore.ts";
import { comparePrefixes, equalPrefixes, lastAddressOf, type Prefix, toPrefixText } from "../../../lib/ip/prefix.ts";
import { quote } from "../../../lib/quote.ts";
import { DamageList } from "./damage-list.ts";

/** What is found block by block: a record, or why it does not count. */
export type FoundBlock = { readonly block: Block } | UncountedBlock;

/** Its record cannot be read, is missing, or is not where its claim says. */
export interface UncountedBlock {
  /** Its CIDR, or the key or name of what cannot be a block. */
  readonly name: string;
  readonly fault: string;
}

/** All there is. In a consistent datastore each claim has one record, and each record one claim. */
export interface AllBlocks {
  /** Records that can be read, in address order; of two nodes that both have one for the same CIDR, both. */
  readonly blocks: readonly Block[];
  /** Claimed, but there is no record. */
  readonly missing: readonly BlockRef[];
  /** Recorded, but not claimed by that node: another may claim the same addresses. */
  readonly unclaimed: readonly BlockRef[];
}

/** All addresses of each family. */
export const EVERYWHERE: readonly Prefix[] = [
  { family: 4, base: 0n, length: 0 },
  { family: 6, base: 0n, length: 0 },
];

type PagedQuery = QueryOf<"claimed-blocks" | "spare-blocks">;

const ENTRIES_PER_PAGE = 512;
/** 64 full blocks are 512 KB. */
const BLOCKS_PER_READ = 64;

/**
 * The claimed blocks one after the other, in any order, without keeping them: a large cluster has a million allocations. This is no
 * snapshot: each block is as it was at some moment during the read. Last comes what does not count.
 */
export function readBlockByBlock(datastore: Datastore): AsyncGenerator<FoundBlock> {
  return datastore.traits.blocksAreLabelled ? readByPages(datastore) : readByClaims(datastore);
}

/** Where a block is its own claim, nothing is known of it that its record does not say. */
async function* readByPages(datastore: Datastore): AsyncGenerator<FoundBlock> {
  const damage = new DamageList();
  let from: BlockPageStart | undefined;
  do {
    const [page]: readonly [BlockPage] = await datastore.read([{ type: "block-page", from }], damage);
    for (const { value } of page.blocks) yield { block: value };
    from = page.next;
  } while (from !== undefined);
  for (const one of damage.all) if (!one.isAnswered) yield toUncounted(one);
}

/** Where claims are stored beside the blocks, they are asked for first, and the blocks by them. */
async function* readByClaims(datastore: Datastore): AsyncGenerator<FoundBlock> {
  const [named] = await datastore.read([{ type: "block-names" }]);
  const damage = new DamageList();
  const claimed = new Set<string>();
  for await (const page of pagesOf(datastore, "claimed-blocks", damage)) {
    for (const ref of page) claimed.add(keyOf(ref));
    for (let i = 0; i < page.length; i += BLOCKS_PER_READ) yield* await readBlocks(datastore, page.slice(i, i + BLOCKS_PER_READ));
  }
  yield* damage.all.map(toUncounted);
  const others = named.filter(({ ref }) => ref === undefined || (!claimed.has(keyOf(ref)) && damage.faultOf(ref) === undefined));
  if (others.length > 0) yield* unclaimedAmong(datastore, others);
}

/** Reads all blocks, those without a claim as well. One that moves or goes away meanwhile is missing or unclaimed. */
export async function readAllBlocks(datastore: Datastore, damage: DamageList): Promise<AllBlocks> {
  const claims = (await Array.fromAsync(pagesOf(datastore, "claimed-blocks", damage))).flat();
  const [stored] = await datastore.read([{ type: "all-blocks" }], damage);
  const blocks = stored.map(({ value }) => value).sort((a, b) => comparePrefixes(a.cidr, b.cidr));
  const recorded = new Set(blocks.map(keyOf));
  const claimed = new Set(claims.map(keyOf));
  return {
    blocks,
    missing: claims.filter((ref) => !recorded.has(keyOf(ref)) && damage.faultOf(ref) === undefined),
    unclaimed: blocks.filter((block) => !claimed.has(keyOf(block)) && damage.faultOf(block) === undefined),
  };
}

/** All claims, or all blocks with unallocated addresses: a page at a time. */
export async function* pagesOf(datastore: Datastore, type: PagedQuery["type"], damage: DamageList): AsyncGenerator<readonly SpareBlock[]> {
  for (const within of EVERYWHERE) {
    for (let from = within.base; ;) {
      const query: PagedQuery = { type, within, from: { family: within.family, value: from }, limit: ENTRIES_PER_PAGE };
      // Unreadable entries make a page shorter; that does not make it the last page.
      const leftOut: Damage[] = [];
      const [page] = await datastore.read([query], { onDamage: (found) => leftOut.push(found) });
      leftOut.forEach(damage.onDamage);
      yield page;
      const last = [...page, ...leftOut].reduce((most, { cidr }) => (cidr !== undefined && cidr.base > most ? cidr.base : most), -1n);
      if (last < from || page.length + leftOut.length < ENTRIES_PER_PAGE || last >= lastAddressOf(within).value) break;
      from = last + 1n;
    }
  }
}

function toUncounted({ name, cidr, reason }: Damage): UncountedBlock {
  return { name: cidr === undefined ? name : toPrefixText(cidr), fault: reason };
}

async function readBlocks(datastore: Datastore, refs: readonly BlockRef[]): Promise<readonly FoundBlock[]> {
  const damage = new DamageList();
  const stored = await datastore.read(
    refs.map((ref): QueryOf<"block"> => ({ type: "block", ref })),
    damage,
  );
  const found: FoundBlock[] = [];
  for (const [i, ref] of refs.entries()) {
    const block = stored[i]?.value;
    found.push(...(block === undefined ? await findMoved(datastore, ref.cidr, damage) : [{ block }]));
  }
  return found;
}

/** A block that is not where its claim said may just have gone to another node, or away. */
async function findMoved(datastore: Datastore, cidr: Prefix, damage: DamageList): Promise<readonly FoundBlock[]> {
  const [claims] = await datastore.read([{ type: "claimed-blocks", within: cidr, limit: ENTRIES_PER_PAGE }], damage);
  const current = claims.find((claim) => equalPrefixes(claim.cidr, cidr));
  if (current === undefined) return [];
  const [stored] = await datastore.read([{ type: "block", ref: current }], damage);
  if (stored !== undefined) return [{ block: stored.value }];
  const fault = damage.faultOf(current) ?? `it is claimed by node ${quote(current.node)}, but its record is gone`;
  return [{ name: toPrefixText(cidr), fault }];
}

/** Looks again at blocks without a claim: those that are gone or claimed by now were only being changed. */
async function* unclaimedAmong(datastore: Datastore, named: readonly NamedBlock[]): AsyncGenerator<UncountedBlock> {
  const [now] = await datastore.read([{ type: "block-names" }]);
  const present = new Set(now.map(nameKeyOf));
  for (const candidate of named) {
    if (!present.has(nameKeyOf(candidate))) continue;
    const { name, ref } = candidate;
    const fault = ref === undefined ? "it is nothing that netplug writes there" : `node ${quote(ref.node)} has not claimed it`;
    yield { name: ref === undefined ? name : toPrefixText(ref.cidr), fault };
  }
}

function nameKeyOf({ name, ref }: NamedBlock): string {
  return `${name} ${ref?.node ?? ""}`;
}

/** What tells a block and its owner from all others. */
export function keyOf({ cidr, node }: BlockRef): string {
  return `${toPrefixText(cidr)} ${node}`;
}
