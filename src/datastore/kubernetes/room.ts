/** Whether a node can give addresses, as far as its own disk decides: it claims no block that it cannot name in its hint first. */

import { NetplugError } from "../../lib/errors.ts";
import { quote } from "../../lib/quote.ts";
import type { NodeBlocks } from "./reads/node-blocks.ts";
import type { BlockHints } from "./state/block-hints.ts";

/**
 * Asks for nothing while the hint can be written. Else a free address in a block of the node is enough: pods must not be driven from a node
 * that still gives addresses.
 *
 * @param readBlocks of the node
 * @throws NetplugError ioFailure
 */
export async function requireRoom(hints: BlockHints, readBlocks: () => Promise<NodeBlocks>): Promise<void> {
  const failure = await hints.tryWrite();
  if (failure === undefined) return;
  const { readable } = await readBlocks();
  if (readable.some(({ value }) => value.free.length > 0)) return;
  const what = `claim a block of addresses: this node has none with a free address, and cannot write the list of its blocks, ${quote(hints.file)}`;
  const text = `${what}: ${failure.message}; make room there, mount it writable, or remove what is not a file`;
  throw new NetplugError("ioFailure", text, { cause: failure });
}
