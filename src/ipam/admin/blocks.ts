/** Reads every block of the cluster, a page at a time. */

import { CorruptBlock } from "../../api/ipam-block-codec.ts";
import type { Block, BlockRef } from "../../api/ipam-block.ts";
import type { Datastore, Query } from "../../datastore/datastore.ts";
import { messageOf } from "../../lib/errors.ts";
import { comparePrefixes, lastAddressOf, type Prefix, toPrefixText } from "../../lib/ip/prefix.ts";

/** All there is: each claimed block is in exactly one of the lists. */
export interface AllBlocks {
  /** In address order. */
  readonly blocks: readonly Block[];
  /** Claimed, but their record cannot be read. */
  readonly corrupt: readonly UnreadableBlock[];
  /** Claimed, but there is no record. */
  readonly missing: readonly BlockRef[];
}

export interface UnreadableBlock {
  readonly ref: BlockRef;
  readonly fault: string;
}

const EVERYWHERE: readonly Prefix[] = [
  { family: 4, base: 0n, length: 0 },
  { family: 6, base: 0n, length: 0 },
];
const CLAIMS_PER_PAGE = 512;
/** 64 full blocks are 512 KB. */
const BLOCKS_PER_READ = 64;

/** Reads all blocks. While others write, the answer is no snapshot: each block is one of its states in the meantime. */
export async function readAllBlocks(datastore: Datastore): Promise<AllBlocks> {
  const blocks: Block[] = [];
  const corrupt: UnreadableBlock[] = [];
  const missing: BlockRef[] = [];
  for await (const refs of pagesOfClaims(datastore)) {
    for (const result of await readBlocks(datastore, refs)) {
      if ("block" in result) blocks.push(result.block);
      else if ("fault" in result) corrupt.push(result);
      else missing.push(result.ref);
    }
  }
  // A block that moved while we read was seen twice.
  const unique = new Map(blocks.map((block) => [toPrefixText(block.cidr), block]));
  return { blocks: [...unique.values()].sort((a, b) => comparePrefixes(a.cidr, b.cidr)), corrupt, missing };
}

async function* pagesOfClaims(datastore: Datastore): AsyncGenerator<readonly BlockRef[]> {
  for (const within of EVERYWHERE) {
    let from: bigint = within.base;
    for (;;) {
      const query = { type: "claimed-blocks", within, from: { family: within.family, value: from }, limit: CLAIMS_PER_PAGE } as const;
      const [refs] = await datastore.read([query]);
      for (let i = 0; i < refs.length; i += BLOCKS_PER_READ) yield refs.slice(i, i + BLOCKS_PER_READ);
      const last = refs.at(-1);
      if (last === undefined || refs.length < CLAIMS_PER_PAGE || last.cidr.base >= lastAddressOf(within).value) break;
      from = last.cidr.base + 1n;
    }
  }
}

type ReadBlock = { readonly block: Block } | UnreadableBlock | { readonly ref: BlockRef };

/** Together when all can be read, else one by one to find the one that cannot. */
async function readBlocks(datastore: Datastore, refs: readonly BlockRef[]): Promise<readonly ReadBlock[]> {
  try {
    const stored = await datastore.read(refs.map((ref): Query & { type: "block" } => ({ type: "block", ref })));
    const results: ReadBlock[] = [];
    for (const [i, ref] of refs.entries()) {
      const value = stored[i]?.value;
      results.push(value === undefined ? await findMoved(datastore, ref) : { block: value });
    }
    return results;
  } catch (thrown) {
    if (!isCorrupt(thrown)) throw thrown;
    const [only] = refs;
    if (refs.length === 1 && only !== undefined) return [{ ref: only, fault: faultOf(thrown) }];
    const half = Math.ceil(refs.length / 2);
    return [...(await readBlocks(datastore, refs.slice(0, half))), ...(await readBlocks(datastore, refs.slice(half)))];
  }
}

/** A block that is not where its claim said may just have gone to another node. */
async function findMoved(datastore: Datastore, ref: BlockRef): Promise<ReadBlock> {
  const [[current]] = await datastore.read([{ type: "claimed-blocks", within: ref.cidr, limit: 1 }]);
  if (current === undefined) return { ref };
  const [stored] = await datastore.read([{ type: "block", ref: current }]);
  return stored === undefined ? { ref: current } : { block: stored.value };
}

function isCorrupt(thrown: unknown): boolean {
  return thrown instanceof CorruptBlock || (thrown instanceof Error && thrown.cause !== undefined && isCorrupt(thrown.cause));
}

function faultOf(thrown: unknown): string {
  if (thrown instanceof CorruptBlock || !(thrown instanceof Error) || thrown.cause === undefined) return messageOf(thrown);
  return faultOf(thrown.cause);
}
