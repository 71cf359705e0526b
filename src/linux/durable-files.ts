/** Files that must be whole after a power failure, and executables: what an installer does to folders that others read. */

import { NetplugError } from "../lib/errors.ts";
import { quote } from "../lib/quote.ts";
import { O_CLOEXEC, O_CREAT, O_EXCL, O_RDONLY, O_WRONLY, W_OK, X_OK } from "./constants.ts";
import { EAGAIN, EINVAL } from "./errno.ts";
import { Fd } from "./fd.ts";
import { linuxFiles, openFile, writeAll } from "./files.ts";
import { tryLock as tryLockFd } from "./flock.ts";
import { makeFolders } from "./folders.ts";
import { check, KernelError } from "./kernel-error.ts";
import { durableLibc, lastErrno, libc, rareLibc, toCString, untilDone } from "./libc.ts";
import { statLink, statPath } from "./stat.ts";

const CHUNK_BYTES = 1024 * 1024;

/** @see include/uapi/asm-generic/fcntl.h */
const LOCK_SH = 1;
const LOCK_NB = 4;

/** The real file system. All of it throws KernelError ioFailure. */
export const durableFiles = {
  readText: (path: string) => linuxFiles.readText(path),
  list: (folder: string) => linuxFiles.list(folder),
  stat: statPath,
  statLink,
  makeFolders,
  checkWritable,
  hasSameContent,
  copy,
  create,
  link,
  rename,
  flushFolder,
  remove: (path: string) => linuxFiles.remove(path),
  tryLock,
  isLocked,
} as const;

/** Throws if nothing can be changed in the folder. Permissions do not tell: read-only file systems and immutable folders stop root too. */
function checkWritable(folder: string): void {
  check(libc().access(toCString(folder), W_OK | X_OK), "write to", folder, "ioFailure");
}

function hasSameContent(a: string, b: string): boolean {
  using first = openToRead(a);
  using second = openToRead(b);
  const chunks = [new Uint8Array(CHUNK_BYTES), new Uint8Array(CHUNK_BYTES)] as const;
  for (;;) {
    const length = readChunk(first, chunks[0], a);
    if (readChunk(second, chunks[1], b) !== length) return false;
    if (length === 0) return true;
    if (Buffer.compare(chunks[0].subarray(0, length), chunks[1].subarray(0, length)) !== 0) return false;
  }
}

/** Copies to `to`, which must not exist, and flushes it to the disk. After a failure the unfinished file stays. */
function copy(from: string, to: string, permissions: number): void {
  using source = openToRead(from);
  using target = createNew(to);
  const chunk = new Uint8Array(CHUNK_BYTES);
  for (let length = readChunk(source, chunk, from); length > 0; length = readChunk(source, chunk, from)) {
    writeAll(target, chunk.subarray(0, length), to);
  }
  finish(target, to, permissions);
}

/** As {@link copy}, of a text. */
function create(path: string, content: string, permissions: number): void {
  using file = createNew(path);
  writeAll(file, new TextEncoder().encode(content), path);
  finish(file, path, permissions);
}

/** Makes `path`, which must not exist, another name of a file. */
function link(existing: string, path: string): void {
  check(durableLibc().link(toCString(existing), toCString(path)), "link", path, "ioFailure");
}

/** Replaces what is there in one step. Two names of the same file stay two: the kernel then does nothing. */
function rename(from: string, to: string): void {
  check(rareLibc().rename(toCString(from), toCString(to)), "rename onto", to, "ioFailure");
}

/** Flushes the folder itself, so that created, replaced and removed names are on the disk. */
function flushFolder(folder: string): void {
  using fd = openToRead(folder);
  flush(fd, folder);
}

/** Takes the advisory lock on a file or folder itself. @returns undefined when somebody else has it; dispose of it to unlock */
function tryLock(path: string): Disposable | undefined {
  const fd = openToRead(path);
  try {
    if (tryLockFd(fd, path)) return fd;
  } catch (thrown) {
    fd[Symbol.dispose]();
    throw thrown;
  }
  fd[Symbol.dispose]();
  return undefined;
}

/** Whether somebody has that lock, this process included; false when there is no such file. Whoever asks at the same time is not taken for one. */
function isLocked(path: string): boolean {
  using fd = openFile(path, O_RDONLY);
  if (fd === undefined) return false;
  if (untilDone(() => libc().flock(fd.number, LOCK_SH | LOCK_NB)) === 0) return false;
  const errno = lastErrno();
  if (errno === EAGAIN) return true;
  throw new KernelError({ operation: "look for the lock on", object: path, errno, kind: "ioFailure" });
}

function openToRead(path: string): Fd {
  const fd = openFile(path, O_RDONLY);
  if (fd === undefined) throw new NetplugError("ioFailure", `open ${quote(path)}: there is no such file`);
  return fd;
}

/** Nobody else can read it before it has its permissions; a link that somebody planted under the name is not followed. */
function createNew(path: string): Fd {
  return new Fd(check(libc().open(toCString(path), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600), "create", path, "ioFailure"));
}

function finish(file: Fd, path: string, permissions: number): void {
  check(rareLibc().fchmod(file.number, permissions), "set mode of", path, "ioFailure");
  flush(file, path);
}

function flush(fd: Fd, path: string): void {
  const { fsync } = durableLibc();
  if (untilDone(() => fsync(fd.number)) === 0) return;
  const errno = lastErrno();
  // Some file systems cannot flush folders, or anything.
  if (errno !== EINVAL) throw new KernelError({ operation: "flush", object: path, errno, kind: "ioFailure" });
}

/** Fills the chunk as far as the file goes. */
function readChunk(fd: Fd, chunk: Uint8Array, path: string): number {
  for (let length = 0; ;) {
    const room = chunk.subarray(length);
    const count = untilDone(() => libc().read(fd.number, room, room.length));
    length += check(count, "read", path, "ioFailure");
    if (count === 0 || length === chunk.length) return length;
  }
}
