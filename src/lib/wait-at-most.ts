/** Waiting for what may never come. */

import type { Clock } from "./ports.ts";

/**
 * Waits for something pending, which goes on whatever becomes of the wait.
 *
 * @returns undefined when the time is over first
 */
export async function waitAtMost<T extends object>(ms: number, pending: Promise<T>, clock: Pick<Clock, "sleep">): Promise<T | undefined> {
  const settled = new AbortController();
  const timeout = clock.sleep(ms, settled.signal).then(
    () => undefined,
    () => undefined,
  );
  try {
    return await Promise.race([pending, timeout]);
  } finally {
    settled.abort();
  }
}
