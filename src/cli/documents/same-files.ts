/** How a message proposes a command on the files that were just named. */

import { toFileWord, toWord } from "../failures/suggested-commands.ts";
import type { DocumentFlags } from "./documents.ts";

/** A command on the files that `-f` named, which another process does not find where they are stdin or a shell's `<(command)`. @param command that takes `-f` */
export function onSameFiles(command: string, { filename, namespace }: DocumentFlags): string {
  const files = filename.map((source) => `-f ${source === "-" ? "FILE" : toFileWord(source)}`);
  return [command, ...files, ...(namespace === undefined ? [] : [`-n ${toWord(namespace)}`])].join(" ");
}
