/** Whether a node's disk lets it claim a block, which it first names in its hint. */

import { NetplugError } from "../../lib/errors.ts";
import { quote } from "../../lib/quote.ts";
import type { BlockHints } from "./state/block-hints.ts";

/** Why the node can claim none, in a message for one that has no address left to give; undefined: it can. */
export async function findClaimFault(hints: BlockHints): Promise<NetplugError | undefined> {
  const cause = await hints.tryWrite();
  if (cause === undefined) return undefined;
  const what = `claim a block of addresses: this node has none that can give an address, and cannot write the list of its blocks, ${quote(hints.file)}`;
  const text = `${what}: ${cause.message}; make room there, mount it writable, or remove what is not a file`;
  return new NetplugError("ioFailure", text, { cause });
}
