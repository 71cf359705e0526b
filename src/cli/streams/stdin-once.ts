/** Stdin for one of those who are told to read it. */

import { UsageError } from "../failures/failure.ts";
import type { CliIo } from "../io.ts";

/** The same for a command line that may name stdin in several places (`-c - -f -`): whoever comes second would find it empty, and is refused. */
export function withStdinOnce(io: CliIo): CliIo {
  let isRead = false;
  return {
    ...io,
    async readInput(source, ...how) {
      if (source === "-" && isRead) throw new UsageError("read stdin: got it twice, want it once");
      if (source === "-") isRead = true;
      return await io.readInput(source, ...how);
    },
  };
}
