/** For tests that need the programs of an API server, and say so in their names: `… (needs cluster)`. */

import type { test as always } from "bun:test";
import { canStartApiServer } from "./api-server.ts";
import { type Ending, shareIf } from "../share.ts";

/**
 * How such tests are registered, and what they share: `const [test, api] = onApiServer(() => startApiServer())`.
 *
 * @param prepare what all of them find
 */
export function onApiServer<T extends Ending>(
  start: () => T | Promise<T>,
  prepare?: (it: T) => unknown,
): readonly [test: typeof always, it: T] {
  return shareIf(canStartApiServer(), start, prepare);
}
