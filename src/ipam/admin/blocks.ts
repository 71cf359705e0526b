/** Reads every block of the cluster, and every claim. */

import { CorruptBlock } from "../../api/ipam-block-codec.ts";
import type { Block, BlockRef } from "../../api/ipam-block.ts";
import type { Datastore, Query, Stored } from "../../datastore/datastore.ts";
import { messageOf } from "../../lib/errors.ts";
import { comparePrefixes, lastAddressOf, type Prefix, toPrefixText } from "../../lib/ip/prefix.ts";

/** A claimed block: its record, or why there is none to be had. */
export type ClaimedBlock = { readonly block: Block } | UnreadableBlock | { readonly missing: BlockRef };

/** Claimed, but its record cannot be read. */
export interface UnreadableBlock {
  readonly ref: BlockRef;
  readonly fault: string;
}

/** All there is. In a sound datastore each claim has one record, and each record one claim. */
export interface AllBlocks {
  /** Records that can be read, in address order; of two nodes that both have one for the same CIDR, both. */
  readonly blocks: readonly Block[];
  readonly corrupt: readonly UnreadableBlock[];
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
const CLAIMS_PER_PAGE = 512;
/** 64 full blocks are 512 KB. */
const BLOCKS_PER_READ = 64;

/**
 * The claimed blocks one after the other, in address order, without keeping them: a large cluster has a million allocations. While
 * others write it is no snapshot, each block is one of its states in the meantime.
 */
export async function* readClaimedBlocks(datastore: Datastore): AsyncGenerator<ClaimedBlock> {
  const seen = new Set<string>();
  for await (const page of pagesOfClaims(datastore)) {
    for (let i = 0; i < page.length; i += BLOCKS_PER_READ) {
      for (const found of await readBlocks(datastore, page.slice(i, i + BLOCKS_PER_READ))) {
        const key = "block" in found ? toPrefixText(found.block.cidr) : undefined;
        if (key !== undefined && seen.has(key)) continue; // it moved while we read
        if (key !== undefined) seen.add(key);
        yield found;
      }
    }
  }
}

/** Reads all blocks, those without a claim as well; when one of the records cannot be read, those that are claimed. */
export async function readAllBlocks(datastore: Datastore): Promise<AllBlocks> {
  const claims = (await Array.fromAsync(pagesOfClaims(datastore))).flat();
  const all = await tryRead(datastore, { type: "all-blocks" });
  const blocks: Block[] = [];
  const corrupt: UnreadableBlock[] = [];
  const missing: BlockRef[] = [];
  const sort = (found: ClaimedBlock): unknown =>
    "block" in found ? blocks.push(found.block) : "fault" in found ? corrupt.push(found) : missing.push(found.missing);
  if ("fault" in all) {
    for await (const found of readClaimedBlocks(datastore)) sort(found);
  } else {
    const recorded = new Set(all.stored.map(({ value }) => keyOf(value)));
    for (const { value } of all.stored) blocks.push(value);
    for (const ref of claims) if (!recorded.has(keyOf(ref))) sort(await findMoved(datastore, ref));
  }
  const claimed = new Set(claims.map(keyOf));
  return {
    blocks: blocks.sort((a, b) => comparePrefixes(a.cidr, b.cidr)),
    corrupt,
    missing,
    unclaimed: blocks.filter((block) => !claimed.has(keyOf(block))).map(({ cidr, node }) => ({ cidr, node })),
  };
}

async function* pagesOfClaims(datastore: Datastore): AsyncGenerator<readonly BlockRef[]> {
  for (const within of EVERYWHERE) {
    let from = within.base;
    for (;;) {
      const query = { type: "claimed-blocks", within, from: { family: within.family, value: from }, limit: CLAIMS_PER_PAGE } as const;
      const [page] = await datastore.read([query]);
      yield page;
      const last = page.at(-1);
      if (last === undefined || page.length < CLAIMS_PER_PAGE || last.cidr.base >= lastAddressOf(within).value) break;
      from = last.cidr.base + 1n;
    }
  }
}

/** Together when all can be read, else in halves to find the one that cannot. */
async function readBlocks(datastore: Datastore, refs: readonly BlockRef[]): Promise<readonly ClaimedBlock[]> {
  try {
    const stored = await datastore.read(refs.map((ref): Query & { type: "block" } => ({ type: "block", ref })));
    const found: ClaimedBlock[] = [];
    for (const [i, ref] of refs.entries()) {
      const block = stored[i]?.value;
      found.push(block === undefined ? await findMoved(datastore, ref) : { block });
    }
    return found;
  } catch (thrown) {
    if (!isCorrupt(thrown)) throw thrown;
    const [only] = refs;
    if (refs.length === 1 && only !== undefined) return [{ ref: only, fault: faultOf(thrown) }];
    const half = Math.ceil(refs.length / 2);
    return [...(await readBlocks(datastore, refs.slice(0, half))), ...(await readBlocks(datastore, refs.slice(half)))];
  }
}

/** A block that is not where its claim said may just have gone to another node. */
async function findMoved(datastore: Datastore, ref: BlockRef): Promise<ClaimedBlock> {
  const [[current]] = await datastore.read([{ type: "claimed-blocks", within: ref.cidr, limit: 1 }]);
  if (current === undefined) return { missing: ref };
  const found = await tryRead(datastore, { type: "block", ref: current });
  if ("fault" in found) return { ref: current, fault: found.fault };
  const [stored] = found.stored;
  return stored === undefined ? { missing: current } : { block: stored.value };
}

/** @returns the fault of the first record that cannot be read */
async function tryRead(
  datastore: Datastore,
  query: Extract<Query, { readonly type: "all-blocks" | "block" }>,
): Promise<{ readonly stored: readonly Stored<Block>[] } | { readonly fault: string }> {
  try {
    const [answer] = await datastore.read([query]);
    if (answer === undefined) return { stored: [] };
    return { stored: "value" in answer ? [answer] : answer };
  } catch (thrown) {
    if (!isCorrupt(thrown)) throw thrown;
    return { fault: faultOf(thrown) };
  }
}

function isCorrupt(thrown: unknown): boolean {
  return thrown instanceof CorruptBlock || (thrown instanceof Error && thrown.cause !== undefined && isCorrupt(thrown.cause));
}

function faultOf(thrown: unknown): string {
  if (thrown instanceof CorruptBlock || !(thrown instanceof Error) || thrown.cause === undefined) return messageOf(thrown);
  return faultOf(thrown.cause);
}

function keyOf({ cidr, node }: BlockRef): string {
  return `${toPrefixText(cidr)} ${node}`;
}
