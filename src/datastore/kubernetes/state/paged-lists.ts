/** Lists that are read page by page: what is left of each, kept until its next page is asked for. */

import { ExpiringMap } from "../../../lib/expiring-map.ts";
import type { Clock } from "../../../lib/ports.ts";

/** A reader who takes longer between two pages gets a new list: milliseconds. */
const LIFETIME_MS = 5_000;

/** No caller reads more lists at once. */
const MAX_LISTS = 16;

interface Rest<T> {
  readonly next: bigint;
  readonly rest: readonly T[];
}

/** What is left of the lists that one process is reading. */
export class PagedLists<T> {
  readonly #rests: ExpiringMap<Rest<T>>;

  constructor(clock: Clock) {
    this.#rests = new ExpiringMap(clock, { lifetimeMs: LIFETIME_MS, most: MAX_LISTS });
  }

  /** @param next where the following page begins */
  keep(list: string, next: bigint, rest: readonly T[]): void {
    this.#rests.set(list, { next, rest });
  }

  /** @returns undefined unless `from` is where the last page ended */
  continue(list: string, from: bigint | undefined): readonly T[] | undefined {
    if (this.#rests.get(list)?.next !== from) return undefined;
    return this.#rests.take(list)?.rest;
  }
}
