/** Pipes in the place of files: `--kubeconfig <(command)`, `ETCD_KEY_FILE=<(command)`. Each gives what it has to one reader. */

import type { CliIo } from "../io.ts";

/**
 * The same for a command whose parts read a file several times: whoever looks for the namespace of a context, asks the datastore, or was refused by it.
 * A pipe is waited for, and each gets what it gave once. What is no pipe is read anew, for it may be written meanwhile.
 */
export function withPipesOnce(io: CliIo): CliIo {
  const piped = new Map<string, () => string | undefined>();
  const readText = (path: string): string | undefined => {
    let given = piped.get(path);
    if (given === undefined) {
      if (io.pipeAt(path) === undefined) return io.files.readText(path);
      given = resultOf(() => io.readPipe(path));
      piped.set(path, given);
    }
    return given();
  };
  return { ...io, files: { ...io.files, readText } };
}

/** The same for whoever is typing a command: a pipe is as good as missing, for what it gives is for the command. */
export function withoutPipes(io: CliIo): CliIo {
  return {
    ...io,
    files: { ...io.files, readText: (path) => (io.pipeAt(path) === undefined ? io.files.readText(path) : undefined) },
    readInput: async (source, ...how) => (io.pipeAt(source) === undefined ? await io.readInput(source, ...how) : undefined),
  };
}

/** Does the work now. @returns returns what it returned, or throws what it threw */
function resultOf<T>(work: () => T): () => T {
  try {
    const result = work();
    return () => result;
  } catch (thrown) {
    return () => {
      throw thrown;
    };
  }
}
