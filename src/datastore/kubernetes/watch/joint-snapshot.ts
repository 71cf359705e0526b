/** The snapshot with which a watch over several kinds begins: told as one, although each kind is listed by itself. */

import type { EventQueue } from "../../event-queue.ts";

/** Nothing is told until all kinds are listed: what was told before is void from then on, and not earlier. */
export class JointSnapshot {
  readonly #queue: EventQueue;
  /** How many kinds have no list yet. */
  #unlisted: number;
  /** Of how many kinds not all is told yet. */
  #untold: number;
  readonly #areAllListed = Promise.withResolvers<void>();

  /** @param kinds how many there are */
  constructor(kinds: number, queue: EventQueue) {
    this.#queue = queue;
    this.#unlisted = kinds;
    this.#untold = kinds;
    if (kinds === 0) queue.push({ type: "reset" }, { type: "in-sync" });
  }

  /** Notes that the list of one more kind is there; resolves when it may be told. */
  onListed(): Promise<void> {
    if (--this.#unlisted === 0) {
      this.#queue.push({ type: "reset" });
      this.#areAllListed.resolve();
    }
    return this.#areAllListed.promise;
  }

  /** Notes that one more list is told. */
  onTold(): void {
    if (--this.#untold === 0) this.#queue.push({ type: "in-sync" });
  }
}
