/** Trying again: how long to wait before it, spread out. */

import type { Random } from "./ports.ts";

/** How long to wait before each further try: twice as long as before the last one. */
export interface Backoff {
  /** Milliseconds before the second try. */
  readonly firstMs: number;
  /** No wait is longer. */
  readonly maxMs: number;
}

/** Milliseconds to wait after the failed try number `attempt` (from 1): between half of the grown delay and all of it. */
export function delayAfter(attempt: number, backoff: Backoff, random: Random): number {
  const grown = Math.min(backoff.maxMs, backoff.firstMs * 2 ** (attempt - 1));
  return grown * (0.5 + random() / 2);
}
