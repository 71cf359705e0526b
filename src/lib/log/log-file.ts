/** A log file that many processes append to at once, rotated by size, with old files removed by count and age. */

import { messageOf } from "../errors.ts";
import type { Clock } from "../ports.ts";
import { quote } from "../quote.ts";
import { toJsonLine } from "./format.ts";
import type { LogSink } from "./log.ts";

/** Identifies a file across renames: device and inode. */
export type FileId = string;

/** What a process looks at to see whether its file was rotated by another one, or must be by itself. */
export interface FileFacts {
  readonly id: FileId;
  readonly sizeBytes: number;
  /** Milliseconds since 1970. */
  readonly modifiedMs: number;
}

/** A file open for appending. */
export interface AppendFile {
  /** As it was when it was opened. */
  readonly opened: FileFacts;
  /** One `write` with `O_APPEND`: lines of several processes never mix. @throws when not all of it was written */
  append(bytes: Uint8Array): void;
  /** Takes the exclusive lock of the file (`flock`) unless somebody else has it. */
  tryLock(): boolean;
  unlock(): void;
  close(): void;
}

/** What a rotating log needs from the file system; all synchronous. */
export interface LogFiles {
  /** Opens with `O_APPEND | O_CREAT`, mode 0644; creates missing folders with mode 0755. */
  openAppend(path: string): AppendFile;
  /** @returns undefined when there is no such file */
  stat(path: string): FileFacts | undefined;
  /** @returns false when `to` exists already */
  renameToNew(from: string, to: string): boolean;
  list(folder: string): readonly string[] | undefined;
  remove(path: string): boolean;
  /** Lets this thread rest for a moment, about half a millisecond. */
  pause(): void;
}

/** How large the log gets. From `log_file_max_size`, `_age` and `_count`. */
export interface RotationLimits {
  /** A write that would make the file larger rotates first. Bytes. */
  readonly maxSizeBytes: number;
  /** Rotated files last modified longer ago are removed. */
  readonly maxAgeMs: number;
  /** How many rotated files stay. */
  readonly maxCount: number;
}

/** Where the log is, and who is told that it cannot be written. */
export interface LogFileOptions extends RotationLimits {
  /** Absolute. */
  readonly path: string;
  readonly files: LogFiles;
  readonly clock: Pick<Clock, "now">;
  /** Told once, in one line, when the file cannot be written. */
  readonly onFailure: (message: string) => void;
}

/** A sink that holds its file open until it is disposed of. */
export interface LogFileSink extends LogSink, Disposable {}

/**
 * Opens nothing until the first line; from then on keeps the file open.
 *
 * Every process appends whole lines with one `write` and without a lock. Before each line it checks that the path still names the file it
 * holds, and opens the new one if not. Processes that find the file full try to lock it; the one that succeeds renames it, the others wait
 * a moment for that. If it is held up, they append to the file they have: it may exceed its limit by some lines, but nobody hangs.
 */
export function openLogFile(options: LogFileOptions): LogFileSink {
  const encoder = new TextEncoder();
  let file: AppendFile | undefined;
  let hasFailed = false;
  /** The last line was cut, because the disk was full: the next one must begin on a new line. */
  let isTorn = false;

  const fail = (thrown: unknown): void => {
    if (!hasFailed) options.onFailure(`write log file ${quote(options.path)}: ${messageOf(thrown)}; going on as well as possible`);
    hasFailed = true;
  };

  /** The file that the path names now, and its size: one `stat`, and none for the first line. */
  const current = (): { readonly target: AppendFile; readonly sizeBytes: number } => {
    if (file !== undefined) {
      const named = options.files.stat(options.path);
      if (named?.id === file.opened.id) return { target: file, sizeBytes: named.sizeBytes };
      file.close();
      file = undefined;
    }
    file = options.files.openAppend(options.path);
    // Old files go even where nothing is rotated for months: the first process to open the file on a day looks for them.
    if (toDay(file.opened.modifiedMs) !== toDay(options.clock.now())) {
      try {
        removeOld(options);
      } catch (thrown) {
        fail(thrown);
      }
    }
    return { target: file, sizeBytes: file.opened.sizeBytes };
  };

  const roomFor = (lineBytes: number): AppendFile => {
    const { target, sizeBytes } = current();
    if (sizeBytes === 0 || sizeBytes + lineBytes <= options.maxSizeBytes) return target;
    try {
      rotate(target, lineBytes, options);
    } catch (thrown) {
      // A log that is too large is better than none.
      fail(thrown);
    }
    return current().target;
  };

  return {
    write(record) {
      try {
        const line = encoder.encode(`${isTorn ? "\n" : ""}${toJsonLine(record)}\n`);
        const target = roomFor(line.length);
        isTorn = true;
        target.append(line);
        isTorn = false;
      } catch (thrown) {
        fail(thrown);
      }
    },
    [Symbol.dispose]() {
      file?.close();
      file = undefined;
    },
  };
}

/** About 10 ms: far more than a rotation takes, little for whoever waits. */
const MAX_LOCK_TRIES = 20;

/** Makes room, unless another process does so; for one that is held up it does not wait long. */
function rotate(full: AppendFile, lineBytes: number, options: LogFileOptions): void {
  for (let tries = 1; !full.tryLock(); tries++) {
    if (options.files.stat(options.path)?.id !== full.opened.id || tries === MAX_LOCK_TRIES) return;
    options.files.pause();
  }
  try {
    // Only the process that holds the lock of the file at `path` may rename it. Another may have done so before we got the lock.
    const named = options.files.stat(options.path);
    if (named?.id !== full.opened.id || named.sizeBytes + lineBytes <= options.maxSizeBytes) return;
    renameAway(options);
  } finally {
    full.unlock();
  }
  removeOld(options);
}

/**
 * The new name is a time later than those of all rotated files, so that names sort in the order of rotations, even when the clock goes back,
 * or two rotations share a millisecond. If another process takes the name first, the next one is tried.
 */
function renameAway({ path, files, clock }: LogFileOptions): void {
  const newest = rotatedFiles(path, files).at(-1);
  const after = newest === undefined ? 0 : rotationTime(newest, path) + 1;
  for (let time = Math.max(clock.now(), after); ; time++) {
    if (files.renameToNew(path, rotatedName(path, time))) return;
  }
}

/**
 * Removes what is over the count, oldest first, and what is over the age. Several processes may do so at once.
 *
 * @throws why the first of those that cannot be removed stays, when all others are gone
 */
function removeOld({ path, files, clock, maxAgeMs, maxCount }: LogFileOptions): void {
  const rotated = rotatedFiles(path, files);
  const oldest = clock.now() - maxAgeMs;
  const faults: unknown[] = [];
  for (const [index, name] of rotated.entries()) {
    const isTooMany = index < rotated.length - maxCount;
    try {
      if (isTooMany || (files.stat(name)?.modifiedMs ?? oldest) < oldest) files.remove(name);
    } catch (thrown) {
      faults.push(thrown);
    }
  }
  if (faults.length > 0) throw faults[0];
}

/** Paths of the rotated files of a log, oldest first. */
export function rotatedFiles(path: string, files: Pick<LogFiles, "list">): string[] {
  const { folder, base, extension } = splitPath(path);
  return (files.list(folder === "" ? "/" : folder) ?? [])
    .filter((name) => name.startsWith(`${base}-`) && name.endsWith(extension))
    .filter((name) => ROTATION_TIME.test(name.slice(base.length + 1, name.length - extension.length)))
    .toSorted()
    .map((name) => `${folder}/${name}`)
    .filter((rotated) => !Number.isNaN(rotationTime(rotated, path)));
}

const ROTATION_TIME = /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}$/;

/** `/var/log/cni.log` rotated at noon: `/var/log/cni-2026-11-21T12-00-00.000.log`. */
export function rotatedName(path: string, timeMs: number): string {
  const { folder, base, extension } = splitPath(path);
  const time = new Date(timeMs).toISOString().replace("Z", "").replaceAll(":", "-");
  return `${folder}/${base}-${time}${extension}`;
}

/** The inverse of {@link rotatedName}. */
function rotationTime(rotated: string, path: string): number {
  const { folder, base, extension } = splitPath(path);
  const [date, time] = rotated.slice(folder.length + base.length + 2, rotated.length - extension.length).split("T");
  return Date.parse(`${date}T${time?.replaceAll("-", ":")}Z`);
}

function toDay(timeMs: number): number {
  return Math.floor(timeMs / 86_400_000);
}

function splitPath(path: string): { folder: string; base: string; extension: string } {
  const slash = path.lastIndexOf("/");
  const name = path.slice(slash + 1);
  const dot = name.lastIndexOf(".");
  const end = dot > 0 ? dot : name.length;
  return { folder: slash < 0 ? "." : path.slice(0, slash), base: name.slice(0, end), extension: name.slice(end) };
}
