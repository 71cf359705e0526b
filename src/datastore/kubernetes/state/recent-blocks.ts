/**
 * Blocks that one round had to read for its answers, for the round after it that asks for the very blocks: otherwise a node that borrows
 * would need a round more than others. A write on a block that was read too long ago is refused, as always.
 */

import type { Block } from "../../../api/ipam-block.ts";
import { ExpiringMap } from "../../../lib/expiring-map.ts";
import type { Clock } from "../../../lib/ports.ts";
import type { Stored } from "../../datastore.ts";

/** Milliseconds. */
const LIFETIME_MS = 500;

/** No node borrows of so many: somebody walks through all nodes, and wants none of them. */
const MOST_BLOCKS = 256;

export class RecentBlocks {
  readonly #blocks: ExpiringMap<Stored<Block>>;

  constructor(clock: Clock) {
    this.#blocks = new ExpiringMap(clock, { lifetimeMs: LIFETIME_MS, most: MOST_BLOCKS });
  }

  keep(name: string, stored: Stored<Block>): void {
    this.#blocks.set(name, stored);
  }

  /** Gives a block once. */
  take(name: string): Stored<Block> | undefined {
    return this.#blocks.take(name);
  }

  /** What was read before is out of date. */
  clear(): void {
    this.#blocks.clear();
  }
}
