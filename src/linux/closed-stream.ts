/** Standard streams that were closed before this process began. */

import { O_CLOEXEC } from "./constants.ts";
import { linuxFiles } from "./files.ts";

/**
 * Whether nobody gets what is written there, because whoever started this process closed the stream (`>&-`). Bun opens `/dev/null` in its place, so
 * that writes succeed. Unlike all that a process is given, this one closes on exec; the `/dev/null` of a caller does not.
 */
export function wasClosed(fd: 0 | 1 | 2): boolean {
  const info = linuxFiles.readText(`/proc/self/fdinfo/${fd}`) ?? "";
  const [, flags = "0"] = /^flags:\s*([0-7]+)$/m.exec(info) ?? [];
  return (Number.parseInt(flags, 8) & O_CLOEXEC) !== 0;
}
