/** Stdin for one of those who are told to read it. */

import { UsageError } from "../failures/failure.ts";
import type { CliIo } from "../io.ts";

/** Names that the kernel has for it. A file that is redirected there is read from its start by each of them, a pipe is not. */
const PATHS: ReadonlySet<string> = new Set(["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"]);

/**
 * The same for a command line that may name stdin in several places (`-c - -f -`, `--kubeconfig /dev/stdin -f -`): whoever comes second would find it
 * empty, and is refused.
 */
export function withStdinOnce(io: CliIo): CliIo {
  let isRead = false;
  const take = (): void => {
    if (isRead) throw new UsageError("read stdin: got it twice, want it once");
    isRead = true;
  };
  return {
    ...io,
    async readInput(source, ...how) {
      if (source === "-" || (PATHS.has(source) && io.isPipeAt(source))) take();
      return await io.readInput(source, ...how);
    },
    readPipe(path) {
      if (PATHS.has(path)) take();
      return io.readPipe(path);
    },
  };
}
