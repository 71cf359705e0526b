/** Whether a network namespace that a file of the node names is gone: nobody can use addresses in it any more. */

import type { Files } from "../../lib/ports.ts";
import type { Host } from "../host.ts";

/**
 * Whether this process sees that the path names nothing any more. False when it cannot tell. A namespace lives on without its name as long as
 * somebody has it open; so do its interfaces.
 */
export function isNetnsGone({ kernel, files }: Pick<Host, "kernel" | "files">, path: string): boolean {
  try {
    using netns = kernel.openNetns(path);
    return netns === undefined && isNameGone(files, path);
  } catch {
    return false;
  }
}

/** `/proc/<pid>/ns/net`, `/proc/<pid>/fd/<n>`. */
const OF_PROCESS = /\/(?:ns\/net|fd\/\d+)$/;

/** Whether the path is without its namespace once a process has ended, or closed it, although others may be in it: nobody sees when it is gone. */
export function isNamedByProcess(path: string): boolean {
  return OF_PROCESS.test(path);
}

/**
 * Whether this process sees a namespace's folder, and its name is not in it, as that of a link would be that leads to a process which has ended.
 * Else the namespace may exist unseen.
 */
export function isNameGone(files: Files, path: string): boolean {
  const end = path.lastIndexOf("/");
  if (end <= 0 || isNamedByProcess(path)) return false;
  return files.list(path.slice(0, end))?.includes(path.slice(end + 1)) === false;
}
