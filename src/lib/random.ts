/** Real randomness. Everything else gets a {@link Random} handed in. */

import type { Random } from "./ports.ts";

/** Good enough to spread retries and searches; never for secrets. */
export const systemRandom: Random = () => Math.random();

/** A whole number from 0 (inclusive) to `limit` (exclusive). */
export function randomInteger(random: Random, limit: number): number {
  return Math.floor(random() * limit);
}
