/** Reads, decides and writes; begins again when somebody else was quicker. */

import { NetplugError } from "../../lib/errors.ts";

/** Enough for the last of twenty commands that change one object at the same time. */
const MAX_ATTEMPTS = 20;

/**
 * Repeats an attempt until it gets through.
 *
 * @param attempt reads, decides and commits; gives undefined when what it read has changed meanwhile
 * @throws {NetplugError} tryAgainLater when others keep being quicker
 */
export async function withRetries<T>(what: string, attempt: () => Promise<T | undefined>): Promise<T> {
  for (let count = 0; count < MAX_ATTEMPTS; count++) {
    const result = await attempt();
    if (result !== undefined) return result;
  }
  throw new NetplugError("tryAgainLater", `${what}: others keep changing it`);
}
