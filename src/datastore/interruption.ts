/** When a watch is told to be interrupted. */

import type { NetplugError } from "../lib/errors.ts";
import type { WatchEvent } from "./datastore.ts";

/** Failures in a row from which on it is told: what the next try mends is none. */
const TOLD_FROM = 2;

/** Of a watch that goes on over several connections, each for what it is about (`part`). */
export class Interruption {
  readonly #parts = new Set<string>();

  /**
   * @param failures in a row, as `FailureRow` counts them: a connection that stood ends the row only when it has brought something, or stood for a second
   * @returns what is to be told of the last of them
   */
  fail(failure: NetplugError, failures: number, part = ""): readonly WatchEvent[] {
    if (failures < TOLD_FROM || this.#parts.has(part)) return [];
    this.#parts.add(part);
    return this.#parts.size === 1 ? [{ type: "interrupted", failure }] : [];
  }

  /** @returns what is to be told when a connection stands */
  end(part = ""): readonly WatchEvent[] {
    return this.#parts.delete(part) && this.#parts.size === 0 ? [{ type: "resumed" }] : [];
  }
}
