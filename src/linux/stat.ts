/** What the kernel tells of a file without opening it. */

import { AT_EMPTY_PATH, AT_FDCWD } from "./constants.ts";
import type { Fd } from "./fd.ts";
import { check, requireMissing } from "./kernel-error.ts";
import { libc, toCString } from "./libc.ts";

/** What is known of a file, whichever way it was found. */
export interface FileStat {
  /** Device and inode: two files that show the same one are the same. */
  readonly id: string;
  /** `S_IFMT` of its mode; `file-type.ts` says it in words. */
  readonly type: number;
  readonly isRegular: boolean;
  readonly isFolder: boolean;
  /** With set-user-ID and its kin: what `chmod` takes. */
  readonly permissions: number;
  /** User ID. */
  readonly owner: number;
  readonly sizeBytes: number;
  /** How many names it has. A folder that has none was removed, and is seen only where it is mounted or open. */
  readonly links: number;
  /** Milliseconds since 1970. */
  readonly modifiedMs: number;
}

/** `struct statx`: the same on every architecture, unlike `struct stat`. @see include/uapi/linux/stat.h */
const STATX = {
  bytes: 256,
  links: 16,
  owner: 20,
  mode: 28,
  inode: 32,
  size: 40,
  modified: 112,
  deviceMajor: 136,
  deviceMinor: 140,
} as const;
/** `STATX_BASIC_STATS` */
const WANTED = 0x7ff;
const S_IFMT = 0o170000;
const S_IFREG = 0o100000;
const S_IFDIR = 0o040000;
/** The link itself and not what it points to. */
const AT_SYMLINK_NOFOLLOW = 0x100;

/** Follows symbolic links. @returns undefined when there is no such file @throws {KernelError} ioFailure */
export function statPath(path: string): FileStat | undefined {
  return stat(path, 0);
}

/** Of a symbolic link itself; otherwise as {@link statPath}. @throws {KernelError} ioFailure */
export function statLink(path: string): FileStat | undefined {
  return stat(path, AT_SYMLINK_NOFOLLOW);
}

function stat(path: string, flags: number): FileStat | undefined {
  const statx = new Uint8Array(STATX.bytes);
  if (libc().statx(AT_FDCWD, toCString(path), flags, WANTED, statx) === 0) return toFileStat(statx);
  requireMissing("look at", path);
  return undefined;
}

/** @throws {KernelError} */
export function statFd(fd: Fd): FileStat {
  const statx = new Uint8Array(STATX.bytes);
  check(libc().statx(fd.number, toCString(""), AT_EMPTY_PATH, WANTED, statx), "look at", "open file");
  return toFileStat(statx);
}

function toFileStat(statx: Uint8Array): FileStat {
  const view = new DataView(statx.buffer);
  const device = `${view.getUint32(STATX.deviceMajor, true)}:${view.getUint32(STATX.deviceMinor, true)}`;
  const mode = view.getUint16(STATX.mode, true);
  const type = mode & S_IFMT;
  return {
    id: `${device}:${view.getBigUint64(STATX.inode, true)}`,
    type,
    isRegular: type === S_IFREG,
    isFolder: type === S_IFDIR,
    permissions: mode & ~S_IFMT,
    owner: view.getUint32(STATX.owner, true),
    sizeBytes: Number(view.getBigUint64(STATX.size, true)),
    links: view.getUint32(STATX.links, true),
    modifiedMs: Number(view.getBigInt64(STATX.modified, true)) * 1000 + Math.floor(view.getUint32(STATX.modified + 8, true) / 1_000_000),
  };
}
