/** Whether a node can give addresses, as far as its own disk decides: it claims no block that it cannot name in its hint first. */

import type { Block } from "../../api/ipam-block.ts";
import { NetplugError } from "../../lib/errors.ts";
import { quote } from "../../lib/quote.ts";
import type { ReadOptions } from "../datastore.ts";
import type { NodeBlocks } from "./reads/node-blocks.ts";
import type { BlockHints } from "./state/block-hints.ts";

/**
 * Asks for nothing while the hint can be written. Else room in a block of the node is enough: pods must not be driven from a node that still
 * gives addresses.
 *
 * @param readBlocks of the node
 * @throws NetplugError ioFailure
 */
export async function requireRoom(
  hints: BlockHints,
  readBlocks: () => Promise<NodeBlocks>,
  hasRoom: NonNullable<ReadOptions["hasRoom"]> = hasUnallocated,
): Promise<void> {
  const failure = await hints.tryWrite();
  if (failure === undefined) return;
  const { readable } = await readBlocks();
  if (await hasRoom(readable.map(({ value }) => value))) return;
  const what = `claim a block of addresses: this node has none that can give an address, and cannot write the list of its blocks, ${quote(hints.file)}`;
  const text = `${what}: ${failure.message}; make room there, mount it writable, or remove what is not a file`;
  throw new NetplugError("ioFailure", text, { cause: failure });
}

function hasUnallocated(blocks: readonly Block[]): Promise<boolean> {
  return Promise.resolve(blocks.some(({ free }) => free.length > 0));
}
