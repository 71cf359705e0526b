/** What `npm test -- --help` shows. */

import { TEST_PARTS } from "./parts.ts";

/** Ways to call it, and the parts that there are. */
export function testUsage(): string {
  return [
    "npm test                          everything, as root; ends with N passed, N failed, N skipped",
    "npm test -- PART…                 parts only; npm run test:PART is the same",
    "npm test -- [PART…] PATH…         of those the files whose path contains PATH, such as test/cni/add.test.ts",
    "",
    `parts: check, ${TEST_PARTS.map(({ name }) => name).join(", ")}`,
  ].join("\n");
}
