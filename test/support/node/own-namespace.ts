/** For tests that change the packet filter of the node they run on. */

import { RUN_MARK } from "../run-mark.ts";

/** @throws Error outside of `npm test`, which gives its runs a namespace of their own */
export function requireOwnNamespace(part: string): void {
  if (process.env[RUN_MARK] !== undefined) return;
  throw new Error(
    `portmap changes the packet filter of the node: run this by \`npm run test:${part}\`, which gives it a namespace of its own`,
  );
}
