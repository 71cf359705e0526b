/** Reads every block of the cluster, and every claim. */

import { CorruptBlock } from "../../api/ipam-block-codec.ts";
import type { Block, BlockRef } from "../../api/ipam-block.ts";
import type { Datastore, Query, Stored } from "../../datastore/datastore.ts";
import { messageOf } from "../../lib/errors.ts";
import { comparePrefixes, lastAddressOf, type Prefix, toPrefixText } from "../../lib/ip/prefix.ts";

/** All there is. In a sound datastore each claim has one record, and each record one claim. */
export interface AllBlocks {
  /** Records that can be read, in address order; of two nodes that both have one for the same CIDR, both. */
  readonly blocks: readonly Block[];
  /** Claimed, but their record cannot be read. */
  readonly corrupt: readonly UnreadableBlock[];
  /** Claimed, but there is no record. */
  readonly missing: readonly BlockRef[];
  /** Recorded, but not claimed by that node: another may claim the same addresses. */
  readonly unclaimed: readonly BlockRef[];
}

export interface UnreadableBlock {
  readonly ref: BlockRef;
  readonly fault: string;
}

/** All addresses of each family. */
export const EVERYWHERE: readonly Prefix[] = [
  { family: 4, base: 0n, length: 0 },
  { family: 6, base: 0n, length: 0 },
];
const CLAIMS_PER_PAGE = 512;

/** Reads all blocks. While others write, the answer is no snapshot: each block is one of its states in the meantime. */
export async function readAllBlocks(datastore: Datastore): Promise<AllBlocks> {
  const claims = await readClaims(datastore);
  const { blocks, corrupt } = await readRecords(datastore, claims);
  const claimed = new Set(claims.map(keyOf));
  const recorded = new Set([...blocks, ...corrupt.map(({ ref }) => ref)].map(keyOf));
  const missing = await stillMissing(
    datastore,
    claims.filter((ref) => !recorded.has(keyOf(ref))),
  );
  return {
    blocks: [...blocks, ...missing.moved].sort((a, b) => comparePrefixes(a.cidr, b.cidr)),
    corrupt,
    missing: missing.refs,
    unclaimed: blocks.filter((block) => !claimed.has(keyOf(block))).map(({ cidr, node }) => ({ cidr, node })),
  };
}

async function readClaims(datastore: Datastore): Promise<readonly BlockRef[]> {
  const claims: BlockRef[] = [];
  for (const within of EVERYWHERE) {
    let from = within.base;
    for (;;) {
      const query = { type: "claimed-blocks", within, from: { family: within.family, value: from }, limit: CLAIMS_PER_PAGE } as const;
      const [page] = await datastore.read([query]);
      claims.push(...page);
      const last = page.at(-1);
      if (last === undefined || page.length < CLAIMS_PER_PAGE || last.cidr.base >= lastAddressOf(within).value) break;
      from = last.cidr.base + 1n;
    }
  }
  return claims;
}

type Records = Pick<AllBlocks, "blocks" | "corrupt">;

/** All at once; when one of them cannot be read, node by node, and on its node claim by claim. */
async function readRecords(datastore: Datastore, claims: readonly BlockRef[]): Promise<Records> {
  const all = await tryRead(datastore, { type: "all-blocks" });
  if (!("fault" in all)) return { blocks: all.stored.map(({ value }) => value), corrupt: [] };
  const blocks: Block[] = [];
  const corrupt: UnreadableBlock[] = [];
  for (const [node, refs] of Map.groupBy(claims, (ref) => ref.node)) {
    const ofNode = await tryRead(datastore, { type: "blocks-of-node", node });
    if (!("fault" in ofNode)) {
      blocks.push(...ofNode.stored.map(({ value }) => value));
      continue;
    }
    for (const ref of refs) {
      const one = await tryRead(datastore, { type: "block", ref });
      if ("fault" in one) corrupt.push({ ref, fault: one.fault });
      else blocks.push(...one.stored.map(({ value }) => value));
    }
  }
  return { blocks, corrupt };
}

type BlockQuery = Extract<Query, { readonly type: "all-blocks" | "blocks-of-node" | "block" }>;

/** @returns the fault of the first record that cannot be read */
async function tryRead(
  datastore: Datastore,
  query: BlockQuery,
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

/** A block that is not where its claim said may just have gone to another node, or be gone with its claim. */
async function stillMissing(
  datastore: Datastore,
  refs: readonly BlockRef[],
): Promise<{ readonly refs: readonly BlockRef[]; readonly moved: readonly Block[] }> {
  const missing: BlockRef[] = [];
  const moved: Block[] = [];
  for (const ref of refs) {
    const [[current]] = await datastore.read([{ type: "claimed-blocks", within: ref.cidr, limit: 1 }]);
    if (current === undefined) continue;
    const found = await tryRead(datastore, { type: "block", ref: current });
    if (!("fault" in found) && found.stored.length === 0) missing.push(current);
    else if (!("fault" in found) && current.node !== ref.node) moved.push(...found.stored.map(({ value }) => value));
  }
  return { refs: missing, moved };
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
