/**
 * Blocks that one round had to read for its answers, for the round after it that asks for the very blocks: otherwise a node that borrows
 * would need a round more than others. Whoever changes one is told when it was older than that.
 */

import type { Block } from "../../api/ipam-block.ts";
import type { Clock } from "../../lib/ports.ts";
import type { Stored } from "../datastore.ts";

/** Milliseconds. */
const LIFETIME_MS = 500;

/** No node borrows of so many: somebody walks through all nodes, and wants none of them. */
const MOST_BLOCKS = 256;

export class RecentBlocks {
  readonly #clock: Clock;
  readonly #blocks = new Map<string, { readonly stored: Stored<Block>; readonly at: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  keep(name: string, stored: Stored<Block>): void {
    if (this.#blocks.size >= MOST_BLOCKS) this.#blocks.clear();
    this.#blocks.set(name, { stored, at: this.#clock.monotonic() });
  }

  /** Gives a block once. */
  take(name: string): Stored<Block> | undefined {
    const kept = this.#blocks.get(name);
    this.#blocks.delete(name);
    return kept !== undefined && this.#clock.monotonic() - kept.at <= LIFETIME_MS ? kept.stored : undefined;
  }

  /** What was read before is out of date. */
  clear(): void {
    this.#blocks.clear();
  }
}
