/** Lists that somebody reads page by page: the rest of each, kept until the next page is asked for. */

import type { Clock } from "../../lib/ports.ts";

/** Whoever takes longer between two pages gets a new list: milliseconds. */
const LIFETIME_MS = 5_000;

/** Nobody reads so many lists at once. */
const MOST_WALKS = 16;

interface Walk<T> {
  readonly next: bigint;
  readonly at: number;
  readonly rest: readonly T[];
}

export class Walks<T> {
  readonly #clock: Clock;
  readonly #walks = new Map<string, Walk<T>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @param next where the following page begins */
  keep(list: string, next: bigint, rest: readonly T[]): void {
    if (this.#walks.size >= MOST_WALKS) this.#walks.clear();
    this.#walks.set(list, { next, at: this.#clock.monotonic(), rest });
  }

  /** @returns undefined unless `from` is where the last page ended */
  continue(list: string, from: bigint | undefined): readonly T[] | undefined {
    const walk = this.#walks.get(list);
    if (walk === undefined || walk.next !== from || this.#clock.monotonic() - walk.at > LIFETIME_MS) return undefined;
    this.#walks.delete(list);
    return walk.rest;
  }
}
