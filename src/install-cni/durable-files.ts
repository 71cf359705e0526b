/** Files that must be there, whole, after a crash: the operations that an installation is made of. */

/** What is known of a file without opening it. */
export interface FileFacts {
  /** Two names with the same one are names of the same file. */
  readonly id: string;
  readonly isRegular: boolean;
  readonly isFolder: boolean;
  readonly permissions: number;
  /** User ID. */
  readonly owner: number;
  readonly sizeBytes: number;
}

/** One method per step, so that a test can let any of them be the last. All throw NetplugError ioFailure. */
export interface DurableFiles {
  /** @returns undefined when there is no such file */
  readText(path: string): string | undefined;
  list(folder: string): readonly string[] | undefined;
  stat(path: string): FileFacts | undefined;
  /** Of a symbolic link itself. */
  statLink(path: string): FileFacts | undefined;
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
  /** @returns undefined when somebody else has the lock */
  tryLockFolder(folder: string): Disposable | undefined;
}
