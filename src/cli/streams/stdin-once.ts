/** Stdin, and each other pipe, for one of those who are told to read it. */

import { toSourceText } from "../../lib/source-name.ts";
import { UsageError } from "../failures/failure.ts";
import type { CliIo } from "../io.ts";

/**
 * The same for a command line that may name stdin, or another pipe, in several places (`-c - -f -`, `--kubeconfig /dev/stdin -f -`,
 * `-f /dev/fd/5 -f /proc/self/fd/5`): whoever comes second would find it empty, and is refused. A file that is redirected to stdin is read from its start
 * by each of its names but `-`.
 */
export function withStdinOnce(io: CliIo): CliIo {
  const taken = new Set<string>();
  const stdin = (): string => io.pipeAt("/dev/stdin") ?? "-";
  const take = (source: string): void => {
    const input = source === "-" ? stdin() : io.pipeAt(source);
    if (input === undefined) return;
    if (taken.has(input)) throw new UsageError(`read ${toSourceText(input === stdin() ? "-" : source)}: got it twice, want it once`);
    taken.add(input);
  };
  return {
    ...io,
    async readInput(source, ...how) {
      take(source);
      return await io.readInput(source, ...how);
    },
    readPipe(path) {
      take(path);
      return io.readPipe(path);
    },
  };
}
