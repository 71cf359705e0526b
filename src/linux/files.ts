/** Files by system calls: `node:fs` costs a CNI plugin more than all the files that it reads. */

import { NetplugError } from "../lib/errors.ts";
import type { Files } from "../lib/ports.ts";
import { quote } from "../lib/quote.ts";
import { O_APPEND, O_CLOEXEC, O_CREAT, O_EXCL, O_NOCTTY, O_NONBLOCK, O_RDONLY, O_WRONLY, X_OK } from "./constants.ts";
import { EAGAIN, EEXIST } from "./errno.ts";
import { Fd } from "./fd.ts";
import { listFolder, makeFolders, parentOf } from "./folders.ts";
import { check, KernelError, requireMissing } from "./kernel-error.ts";
import { lastErrno, libc, rareLibc, toCString, untilDone } from "./libc.ts";
import { statPath } from "./stat.ts";

/** Nothing that we read is near this; a device that never ends is. */
const MAX_BYTES = 64 * 1024 * 1024;
const FIRST_READ_BYTES = 4096;

/** The real file system. */
export const linuxFiles: Files = {
  readText,
  exists: (path) => statPath(path) !== undefined,
  isExecutableFile: (path) => statPath(path)?.isRegular === true && libc().access(toCString(path), X_OK) === 0,
  writeAtomically,
  append,
  remove,
  list: listFolder,
};

/**
 * Opens with `O_CLOEXEC`.
 *
 * @param mode of a file that is created, before the umask
 * @returns undefined when there is no such file
 * @throws {KernelError} ioFailure
 */
export function openFile(path: string, flags: number, mode = 0): Fd | undefined {
  const number = libc().open(toCString(path), flags | O_CLOEXEC | O_NOCTTY, mode);
  if (number >= 0) return new Fd(number);
  requireMissing("open", path);
  return undefined;
}

/**
 * Opens a file, and makes it, with its folders, when it is missing.
 *
 * @param flags `O_CREAT` is added
 * @throws {KernelError} ioFailure
 */
export function openOrMake(path: string, flags: number, mode: number): Fd {
  let fd = openFile(path, flags | O_CREAT, mode);
  if (fd !== undefined) return fd;
  makeFolders(parentOf(path));
  fd = openFile(path, flags | O_CREAT, mode);
  if (fd === undefined) throw new NetplugError("ioFailure", `open ${quote(path)}: its folder is a file or a broken link, or vanished`);
  return fd;
}

/** @throws {KernelError} ioFailure */
export function writeAll(fd: Fd, bytes: Uint8Array, path: string): void {
  for (let at = 0; at < bytes.length;) {
    const rest = bytes.subarray(at);
    const written = untilDone(() => libc().write(fd.number, rest, rest.length));
    at += check(written, "write", path, "ioFailure");
  }
}

function readText(path: string): string | undefined {
  // Not to hang when the path names a FIFO.
  using fd = openFile(path, O_RDONLY | O_NONBLOCK);
  return fd === undefined ? undefined : new TextDecoder().decode(readToEnd(fd.number, path));
}

/**
 * Everything from the current position on.
 *
 * @param wait returns when there is more, or the end; without it a descriptor that has nothing yet is an error
 * @throws {KernelError} ioFailure
 */
export function readToEnd(fd: number, path: string, wait?: () => void): Uint8Array {
  let bytes = new Uint8Array(FIRST_READ_BYTES);
  for (let length = 0; ;) {
    wait?.();
    const room = bytes.subarray(length);
    const count = untilDone(() => libc().read(fd, room, room.length));
    if (count < 0) {
      const errno = lastErrno();
      if (errno === EAGAIN && wait !== undefined) continue;
      throw new KernelError({ operation: "read", object: path, errno, kind: "ioFailure" });
    }
    length += count;
    if (count === 0) return bytes.subarray(0, length);
    if (length < bytes.length) continue;
    if (length >= MAX_BYTES) throw new NetplugError("ioFailure", `read ${quote(path)}: it is larger than ${MAX_BYTES} bytes`);
    const grown = new Uint8Array(4 * bytes.length);
    grown.set(bytes);
    bytes = grown;
  }
}

/**
 * Readers see the old content or the new one, never a part. Not flushed to the disk: it survives us, but not a power failure at this
 * moment.
 */
function writeAtomically(path: string, content: string, mode: number): void {
  makeFolders(parentOf(path));
  const { fd, name } = createBeside(path);
  using file = fd;
  try {
    writeAll(file, new TextEncoder().encode(content), name);
    check(rareLibc().fchmod(file.number, mode), "set mode of", name, "ioFailure");
    check(rareLibc().rename(toCString(name), toCString(path)), "rename onto", path, "ioFailure");
  } catch (cause) {
    rareLibc().unlink(toCString(name));
    throw cause;
  }
}

/** Other processes may write the same target at this moment. */
function createBeside(path: string): { fd: Fd; name: string } {
  for (let attempt = 0; ; attempt++) {
    const name = `${path}.${process.pid}.${attempt}.tmp`;
    const number = libc().open(toCString(name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600);
    if (number >= 0) return { fd: new Fd(number), name };
    const errno = lastErrno();
    if (errno !== EEXIST || attempt === 100) throw new KernelError({ operation: "create", object: name, errno, kind: "ioFailure" });
  }
}

function append(path: string, text: string): void {
  using fd = openFile(path, O_WRONLY | O_APPEND);
  if (fd !== undefined) writeAll(fd, new TextEncoder().encode(text), path);
}

function remove(path: string): boolean {
  if (rareLibc().unlink(toCString(path)) === 0) return true;
  requireMissing("remove", path);
  return false;
}
