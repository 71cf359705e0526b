/** Files that must be there, whole, after a crash: the operations that an installation is made of. */

import type { FileStat } from "../../linux/stat.ts";

/** One method per step, so that a test can stop after any of them. All throw NetplugError ioFailure. */
export interface DurableFiles {
  /** @returns undefined when there is no such file */
  readText(path: string): string | undefined;
  list(folder: string): readonly string[] | undefined;
  stat(path: string): FileStat | undefined;
  /** Of a symbolic link itself. */
  statLink(path: string): FileStat | undefined;
  makeFolders(path: string): void;
  /** Throws when nothing can be written there. */
  checkWritable(folder: string): void;
  hasSameContent(a: string, b: string): boolean;
  /** Makes `to`, which must not exist; on the disk when it returns. */
  copy(from: string, to: string, permissions: number): void;
  /** Makes `path`, which must not exist; on the disk when it returns. */
  create(path: string, content: string, permissions: number): void;
  link(existing: string, path: string): void;
  rename(from: string, to: string): void;
  flushFolder(folder: string): void;
  remove(path: string): boolean;
  /** Of a file or folder. It ends with this process, however that ends. @returns undefined when somebody else has the lock */
  tryLock(path: string): Disposable | undefined;
  isLocked(path: string): boolean;
}
