/** Kubeconfigs as a command reads them, which may be pipes: `--kubeconfig <(command)`. */

import type { ReadKubeconfigFile } from "../../kube/access/kubeconfig.ts";
import type { CliIo } from "../io.ts";

/** Many times the largest one. */
const MAX_PIPED_BYTES = 16 * 1024 * 1024;

/**
 * Reads files anew for each who asks, for they may be written meanwhile. A pipe is waited for, and each gets what it gave once: whoever looks for the
 * namespace of a context, asks the API server, or was refused by it.
 */
export function kubeconfigReaderOf({ files, isPipeAt, readInput }: CliIo): ReadKubeconfigFile {
  const piped = new Map<string, Promise<string | undefined>>();
  return async (path) => {
    let reading = piped.get(path);
    if (reading === undefined && !isPipeAt(path)) return files.readText(path);
    reading ??= readInput(path, MAX_PIPED_BYTES);
    piped.set(path, reading);
    return await reading;
  };
}
