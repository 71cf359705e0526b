/** A folder in the place of a file, which the kernel lets be opened. */

import { orNothing } from "./errors.ts";
import type { Files } from "./ports.ts";

/** Why a file could not be read, when it is for being a folder. */
export function describeFolder(path: string, files: Pick<Files, "list">): string | undefined {
  return orNothing(() => files.list(path)) === undefined ? undefined : "it is a folder, want a file";
}
