/** What a path can lead to, in words for messages. */

import type { FileStat } from "./stat.ts";

/** By `S_IFMT` of a mode. @see include/uapi/linux/stat.h */
const NAMES: Readonly<Record<number, string>> = {
  0o010000: "a named pipe",
  0o020000: "a character device",
  0o040000: "a folder",
  0o060000: "a block device",
  0o100000: "a file",
  0o120000: "a symbolic link",
  0o140000: "a socket",
};

/** Such as `a named pipe`. */
export function describeType({ type }: Pick<FileStat, "type">): string {
  return NAMES[type] ?? `something of type 0${type.toString(8)}`;
}

/** Whether it is a pipe, with a name or as a shell's `<(command)`. */
export function isPipe({ type }: Pick<FileStat, "type">): boolean {
  return type === 0o010000;
}

/** Whether it is a terminal, or something else like `/dev/null`. */
export function isCharacterDevice({ type }: Pick<FileStat, "type">): boolean {
  return type === 0o020000;
}

/** Whether it is a symbolic link itself. */
export function isLink({ type }: Pick<FileStat, "type">): boolean {
  return type === 0o120000;
}
