/**
 * Blocks that one round read to find its answers, kept for the next round, which asks for the same blocks: so a node that borrows needs no
 * extra round. If a kept block is out of date, writing it is refused, as always.
 */

import type { Block } from "../../../api/ipam-block.ts";
import { ExpiringMap } from "../../../lib/expiring-map.ts";
import type { Clock } from "../../../lib/ports.ts";
import type { Stored } from "../../datastore.ts";

/** Milliseconds. */
const LIFETIME_MS = 500;

/** No node borrows from more blocks: a caller that reads more goes through all nodes, and will not ask for the blocks. */
const MAX_BLOCKS = 256;

/** Hands the blocks that one round read to the next round of the same process, each once. */
export class RecentBlocks extends ExpiringMap<Stored<Block>> {
  constructor(clock: Clock) {
    super(clock, { lifetimeMs: LIFETIME_MS, most: MAX_BLOCKS });
  }
}
