/** Whether a node's disk lets it give addresses: it claims a block only after it has named it in its hint. */

import { NetplugError } from "../../lib/errors.ts";
import { quote } from "../../lib/quote.ts";
import type { ReadOptions } from "../datastore.ts";
import type { NodeBlocks } from "./reads/node-blocks.ts";
import type { BlockHints } from "./state/block-hints.ts";

/**
 * Reads no blocks while the hint can be written. Otherwise, room in one of the node's blocks is enough: a node that still gives addresses
 * must not lose its pods.
 *
 * @param readBlocks of the node
 * @throws NetplugError ioFailure
 */
export async function requireRoom(
  hints: BlockHints,
  readBlocks: () => Promise<NodeBlocks>,
  hasRoom: NonNullable<ReadOptions["hasRoom"]>,
): Promise<void> {
  const failure = await hints.tryWrite();
  if (failure === undefined) return;
  const { own } = await readBlocks();
  if (await hasRoom(own.map(({ value }) => value))) return;
  const what = `claim a block of addresses: this node has none that can give an address, and cannot write the list of its blocks, ${quote(hints.file)}`;
  const text = `${what}: ${failure.message}; make room there, mount it writable, or remove what is not a file`;
  throw new NetplugError("ioFailure", text, { cause: failure });
}
