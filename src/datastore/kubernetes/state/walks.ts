/** Lists that somebody reads page by page: the rest of each, kept until the next page is asked for. */

import { ExpiringMap } from "../../../lib/expiring-map.ts";
import type { Clock } from "../../../lib/ports.ts";

/** A reader who takes longer between two pages gets a new list: milliseconds. */
const LIFETIME_MS = 5_000;

/** Nobody reads so many lists at once. */
const MOST_WALKS = 16;

interface Walk<T> {
  readonly next: bigint;
  readonly rest: readonly T[];
}

export class Walks<T> {
  readonly #walks: ExpiringMap<Walk<T>>;

  constructor(clock: Clock) {
    this.#walks = new ExpiringMap(clock, { lifetimeMs: LIFETIME_MS, most: MOST_WALKS });
  }

  /** @param next where the following page begins */
  keep(list: string, next: bigint, rest: readonly T[]): void {
    this.#walks.set(list, { next, rest });
  }

  /** @returns undefined unless `from` is where the last page ended */
  continue(list: string, from: bigint | undefined): readonly T[] | undefined {
    if (this.#walks.get(list)?.next !== from) return undefined;
    return this.#walks.take(list)?.rest;
  }
}
