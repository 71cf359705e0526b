/** Trying again: bounded, spread out, and never beyond a deadline. */

import type { Deadline } from "./deadline.ts";
import { NetplugError } from "./errors.ts";
import type { Clock, Random } from "./ports.ts";

/** How long to wait before each further try. */
export interface Backoff {
  /** Milliseconds before the second try. */
  readonly firstMs: number;
  /** No wait is longer. */
  readonly maxMs: number;
  /** By how much each wait is longer than the one before. @default 2 */
  readonly factor?: number;
}

/** For a commit that lost a race: the winner is done within a round trip. */
export const AFTER_CONFLICT: Backoff = { firstMs: 2, maxMs: 100 };

/** For a server that does not answer. */
export const AFTER_OUTAGE: Backoff = { firstMs: 50, maxMs: 2000 };

/** Milliseconds to wait after the failed try number `attempt` (from 1): between half of the grown delay and all of it. */
export function delayAfter(attempt: number, backoff: Backoff, random: Random): number {
  const grown = Math.min(backoff.maxMs, backoff.firstMs * (backoff.factor ?? 2) ** (attempt - 1));
  return grown * (0.5 + random() / 2);
}

export interface RetryOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly deadline: Deadline;
  /** Whether the same call may succeed later. @default what {@link NetplugError.retriable} says */
  readonly shouldRetry?: (thrown: unknown) => boolean;
  /** @default {@link AFTER_OUTAGE} */
  readonly backoff?: Backoff;
  /** Tries in all. @default no limit but the deadline */
  readonly maxAttempts?: number;
  /** Called before each wait, for logs and counters. */
  readonly onRetry?: (thrown: unknown, attempt: number, delayMs: number) => void;
}

/**
 * Calls `operation` until it succeeds, fails for good, or the deadline does not allow another try.
 *
 * @param operation gets the number of the try, from 1
 * @throws what the last try threw
 */
export async function retry<T>(operation: (attempt: number) => Promise<T>, options: RetryOptions): Promise<T> {
  const { clock, random, deadline, shouldRetry = isRetriable, backoff = AFTER_OUTAGE, maxAttempts = Infinity, onRetry } = options;
  for (let attempt = 1; ; attempt++) {
    try {
      return await operation(attempt);
    } catch (thrown) {
      if (attempt >= maxAttempts || !shouldRetry(thrown)) throw thrown;
      const delayMs = delayAfter(attempt, backoff, random);
      if (delayMs >= deadline.remainingMs()) throw thrown;
      onRetry?.(thrown, attempt, delayMs);
      await clock.sleep(delayMs);
    }
  }
}

function isRetriable(thrown: unknown): boolean {
  return thrown instanceof NetplugError && thrown.retriable;
}
