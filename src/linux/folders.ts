/** Folders: making them and reading their names. */

import { CString } from "bun:ffi";
import { EEXIST, ENOENT } from "./errno.ts";
import { KernelError, requireMissing } from "./kernel-error.ts";
import { lastErrno, rareLibc, toCString } from "./libc.ts";

/** glibc's `struct dirent` on 64 bits: inode u64, offset i64, length u16, type u8, name. */
const NAME_OFFSET = 19;
const FOLDER_MODE = 0o755;

/** Names in a folder, unsorted. @returns undefined when there is no such folder @throws {KernelError} ioFailure */
export function listFolder(path: string): readonly string[] | undefined {
  const folder = rareLibc().opendir(toCString(path));
  if (folder === null) {
    requireMissing("list", path);
    return undefined;
  }
  try {
    const names: string[] = [];
    for (let entry = rareLibc().readdir(folder); entry !== null; entry = rareLibc().readdir(folder)) {
      const name = new CString(entry, NAME_OFFSET);
      if (name !== "." && name !== "..") names.push(name);
    }
    return names;
  } finally {
    rareLibc().closedir(folder);
  }
}

/** Makes the folder and what is missing above it. @throws {KernelError} ioFailure */
export function makeFolders(path: string): void {
  if (path === "" || rareLibc().mkdir(toCString(path), FOLDER_MODE) === 0) return;
  let errno = lastErrno();
  if (errno === ENOENT) {
    makeFolders(parentOf(path));
    if (rareLibc().mkdir(toCString(path), FOLDER_MODE) === 0) return;
    errno = lastErrno();
  }
  // Whether it is a folder is seen by whoever uses it.
  if (errno !== EEXIST) throw new KernelError({ operation: "make folder", object: path, errno, kind: "ioFailure" });
}

/** `/var/lib/netplug` for `/var/lib/netplug/mtu`; empty for a path at the root or without a folder. */
export function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}
