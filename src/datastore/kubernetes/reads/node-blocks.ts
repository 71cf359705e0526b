/** The blocks in which a node has something: by name where the node's hint tells which, else by label. */

import { CorruptBlock } from "../../../api/ipam-block-codec.ts";
import type { Block, BlockRef } from "../../../api/ipam-block.ts";
import { comparePrefixes } from "../../../lib/ip/prefix.ts";
import type { Stored } from "../../datastore.ts";
import { parseBlockName, toBlockName } from "../objects/block-name.ts";
import { holderLabel, isEnding, refOfObject, toStoredBlock } from "../objects/block-object.ts";
import type { BlockObject } from "../objects/resource-types.ts";
import { IPAM_BLOCKS } from "../objects/resource-types.ts";
import type { Batch } from "./batch.ts";
import type { Round } from "./round.ts";

/** What a node has. */
export interface NodeBlocks {
  /** Its own blocks whose records can be read, in address order. */
  readonly own: readonly Stored<Block>[];
  /** Why the first of its other own blocks cannot be read; undefined: there are no others. */
  readonly corrupt: CorruptBlock | undefined;
  /** Blocks of others in which it holds addresses; without a record when that cannot be read. */
  readonly borrowed: readonly { readonly ref: BlockRef; readonly stored: Stored<Block> | undefined }[];
}

/**
 * At most so many blocks are read by name; for more, one list by label is cheaper. A call may make 100 requests at once (the default of
 * `burst`). After a GC has used these up, 16 more are still sent within a request's time limit, at the default `qps` of 5.
 */
const MAX_BY_NAME = 16;

/** Reads by name what the hint names, where it can be trusted; else by label, in another round if need be, and replaces the hint. */
export async function readNodeBlocks(
  node: string,
  round: Pick<Round, "batch" | "hints" | "readCluster" | "onRound" | "options">,
): Promise<NodeBlocks> {
  const { batch, hints, readCluster, onRound } = round;
  if (hints?.node !== node) return sort(node, await listByLabel(node, round));
  const found = hints.read();
  const { trusted } = found;
  if (trusted !== undefined && trusted.blocks.length <= MAX_BY_NAME) {
    const [cluster, objects] = await Promise.all([readCluster(batch), readByName(trusted.blocks, batch)]);
    if (trusted.cluster === cluster) return sort(node, objects);
    onRound();
  }
  const [cluster, objects] = await Promise.all([readCluster(batch), listByLabel(node, round)]);
  const blocks = sort(node, objects);
  // A hint that is too long for reading by name is complete nevertheless, and need not be replaced.
  if (trusted?.cluster !== cluster || objects.length <= MAX_BY_NAME) {
    await hints.replace(
      found,
      cluster,
      objects.map((object) => refOfObject(object).cidr),
    );
  }
  return blocks;
}

async function readByName(blocks: readonly BlockRef["cidr"][], batch: Batch): Promise<readonly BlockObject[]> {
  const objects = await Promise.all(blocks.map((cidr) => batch.get(IPAM_BLOCKS, { name: toBlockName(cidr) })));
  return objects.filter((object) => object !== undefined);
}

/** The blocks with the node's label. An object whose name no block can have belongs to no node, whatever its labels say. */
async function listByLabel(node: string, { batch, options }: Pick<Round, "batch" | "options">): Promise<readonly BlockObject[]> {
  const objects = await batch.list(IPAM_BLOCKS, { labelSelector: holderLabel(node) });
  const named = objects.filter(({ metadata: { name = "" } }) => parseBlockName(name) !== undefined);
  // One that is no block fails the read, unless another read tells of it.
  return options.onDamage === undefined ? named : named.filter(isBlock);
}

function isBlock(object: BlockObject): boolean {
  try {
    refOfObject(object);
    return true;
  } catch {
    return false;
  }
}

function sort(node: string, objects: readonly BlockObject[]): NodeBlocks {
  const own: Stored<Block>[] = [];
  let corrupt: CorruptBlock | undefined;
  const borrowed: { readonly ref: BlockRef; readonly stored: Stored<Block> | undefined }[] = [];
  for (const object of objects) {
    const ref = refOfObject(object);
    // What the node has in it ends with it, so that there is nothing to release; its place is kept until then.
    if (isEnding(object.metadata)) continue;
    const read = tryRead(object);
    if (ref.node === node) {
      if (read instanceof CorruptBlock) corrupt ??= read;
      else own.push(read);
      continue;
    }
    // We may not need the record of another node's block.
    const stored = read instanceof CorruptBlock ? undefined : read;
    const isBorrowed =
      stored === undefined
        ? object.metadata.labels?.[holderLabel(node)] !== undefined
        : stored.value.allocations.some(({ owner }) => owner.node === node);
    if (isBorrowed) borrowed.push({ ref, stored });
  }
  own.sort((a, b) => comparePrefixes(a.value.cidr, b.value.cidr));
  borrowed.sort((a, b) => comparePrefixes(a.ref.cidr, b.ref.cidr));
  return { own, corrupt, borrowed };
}

function tryRead(object: BlockObject): Stored<Block> | CorruptBlock {
  try {
    return toStoredBlock(object);
  } catch (thrown) {
    if (thrown instanceof CorruptBlock) return thrown;
    throw thrown;
  }
}
