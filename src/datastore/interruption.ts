/** When a watch is told to be interrupted. */

import type { NetplugError } from "../lib/errors.ts";
import type { WatchEvent } from "./datastore.ts";

/** Failures in a row of one connection from which on it is told: what the next try mends is none. */
const TOLD_FROM = 2;

/** Of a watch that goes on over several connections, each for what it is about (`part`). */
export class Interruption {
  readonly #failures = new Map<string, number>();
  #isTold = false;

  /** @returns what is to be told of a try that failed */
  fail(failure: NetplugError, part = ""): readonly WatchEvent[] {
    const count = (this.#failures.get(part) ?? 0) + 1;
    this.#failures.set(part, count);
    if (this.#isTold || count < TOLD_FROM) return [];
    this.#isTold = true;
    return [{ type: "interrupted", failure }];
  }

  /** @returns what is to be told when a connection stands */
  end(part = ""): readonly WatchEvent[] {
    this.#failures.delete(part);
    if (!this.#isTold || this.#failures.values().some((count) => count >= TOLD_FROM)) return [];
    this.#isTold = false;
    return [{ type: "resumed" }];
  }
}
