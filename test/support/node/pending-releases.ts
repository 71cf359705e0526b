/** For tests: what calls of a node have left to a later DEL. */

import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** Names of the files; none where no call has ever written one. */
export function pendingReleasesOf(node: { readonly folder: string }): readonly string[] {
  return namesIn(join(node.folder, "unreleased"));
}

/** Names of the files that say which ADD has an attachment. */
export function holdsOf(node: { readonly folder: string }): readonly string[] {
  return namesIn(join(node.folder, "attached"));
}

function namesIn(folder: string): readonly string[] {
  return existsSync(folder) ? readdirSync(folder) : [];
}
