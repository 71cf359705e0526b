/** For tests: what calls of a node have left to a later DEL. */

import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** Names of the files; none where no call has ever written one. */
export function pendingReleasesOf(node: { readonly folder: string }): readonly string[] {
  const folder = join(node.folder, "unreleased");
  return existsSync(folder) ? readdirSync(folder) : [];
}
