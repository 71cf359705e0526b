/** Real randomness, and a repeatable one. Everything else gets a {@link Random} handed in. */

import type { Random } from "./ports.ts";

/** Good enough to spread retries and searches; never for secrets. */
export const systemRandom: Random = () => Math.random();

/** The same sequence for the same seed (mulberry32): for tests and simulations. */
export function seededRandom(seed: number): Random {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A whole number from 0 (inclusive) to `limit` (exclusive). */
export function randomInteger(random: Random, limit: number): number {
  return Math.floor(random() * limit);
}
