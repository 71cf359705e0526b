/** Rules about pools that need more than the one object. */

import { type IPPoolSpec, withPoolDefaults } from "../../api/ip-pool.ts";
import type { BlockRef } from "../../api/ipam-block.ts";
import type { Datastore } from "../../datastore/datastore.ts";
import type { Address } from "../../lib/ip/address.ts";
import { lastAddressOf, overlaps, parsePrefix, type Prefix, toPrefixText } from "../../lib/ip/prefix.ts";
import { quote } from "../../lib/quote.ts";
import { CommandFailed } from "../failures/failure.ts";
import { type BlockPorts, deleteIfEmpty } from "./empty-block.ts";

/** How many claims are read at once. */
const PAGE = 1_000;

/**
 * Refuses a new pool that overlaps another one, or has blocks of another size inside it. An empty block of another size is left over from a
 * deleted pool, and is deleted.
 *
 * @param others every pool, by name
 * @throws {CommandFailed}
 */
export async function checkNewPool(ports: BlockPorts, name: string, spec: IPPoolSpec, others: ReadonlyMap<string, Prefix>): Promise<void> {
  const pool = withPoolDefaults(spec);
  const cidr = parsePrefix(pool.cidr);
  for (const [owner, other] of others) {
    if (!overlaps(other, cidr)) continue;
    throw new CommandFailed(
      `create ippool ${quote(name)}: ${pool.cidr} overlaps ippool ${quote(owner)} (${toPrefixText(other)}); choose another CIDR or delete that pool`,
      { next: `get ippool ${owner}` },
    );
  }
  for await (const block of claimedBlocks(ports.datastore, cidr)) {
    if (block.cidr.length === pool.blockSize || (await deleteIfEmpty(ports, block))) continue;
    throw new CommandFailed(
      `create ippool ${quote(name)}: block ${toPrefixText(block.cidr)} of node ${quote(block.node)} exists inside ${pool.cidr}, and blockSize is ${pool.blockSize}; ` +
        `want blockSize ${block.cidr.length}, or try again when that block is empty`,
      { next: `get ipamblock ${toPrefixText(block.cidr)}` },
    );
  }
}

/** Every claimed block that overlaps a prefix, in address order, read page by page. */
export async function* claimedBlocks(datastore: Datastore, within: Prefix): AsyncGenerator<BlockRef> {
  let from: Address | undefined;
  for (;;) {
    const [page] = await datastore.read([{ type: "claimed-blocks", within, limit: PAGE, ...(from === undefined ? {} : { from }) }]);
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    from = { family: within.family, value: lastAddressOf(last.cidr).value + 1n };
    if (from.value > lastAddressOf(within).value) return;
  }
}
