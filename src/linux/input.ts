/** Reads what a person names on a command line: files, pipes, stdin. */

import { messageOf, NetplugError, orNothing } from "../lib/errors.ts";
import { toSourceText } from "../lib/source-name.ts";
import { O_NONBLOCK, O_RDONLY, R_OK } from "./constants.ts";
import { EISDIR, toErrnoName, toErrnoText } from "./errno.ts";
import { isCharacterDevice, isPipe } from "./file-type.ts";
import { linuxFiles, openFile, readToEnd } from "./files.ts";
import { check } from "./kernel-error.ts";
import { libc, toCString } from "./libc.ts";
import { type FileStat, statFd, statPath } from "./stat.ts";

/** What is read in parts. */
export interface Parted {
  /** As it was when it was opened. */
  readonly sizeBytes: number;
  /** The bytes from `start` (inclusive) to `end` (exclusive); fewer where it has become shorter. */
  read(start: number, end: number): Promise<Uint8Array>;
}

/** A file that stays the same one until it is closed, whatever is renamed meanwhile. */
export interface PartedFile extends Parted, Disposable {
  /** Which file it is, under whatever name; undefined: it can be read once only. */
  readonly id: string | undefined;
}

/**
 * The whole of a file, or of what a pipe gives until it ends; `-` is stdin.
 *
 * @param what it is, for messages: `config file`
 * @returns undefined when there is no such file
 * @throws NetplugError ioFailure, also for more than `limitBytes`
 */
export async function readInput(source: string, limitBytes: number, what?: string): Promise<string | undefined> {
  const name = what === undefined ? toSourceText(source) : `${what} ${toSourceText(source)}`;
  if (source === "-") return await readStream(Bun.stdin, name, limitBytes);
  const stat = tryStat(source);
  if (stat?.isFolder === true) throw new NetplugError("ioFailure", `read ${name}: ${FOLDER}`);
  if (stat?.isRegular === true) requireAtMost(stat.sizeBytes, name, limitBytes);
  try {
    if (stat !== undefined && (await isWaitedFor(source, stat))) return await readStream(Bun.file(source), name, limitBytes);
    return linuxFiles.readText(source);
  } catch (cause) {
    throw unread(name, cause);
  }
}

/** Which pipe a path leads to, under whatever name: it gives its content to one reader only, who may have to wait for it. @returns undefined for all else */
export function pipeAt(path: string): string | undefined {
  const stat = tryStat(path);
  return stat !== undefined && isPipe(stat) ? stat.id : undefined;
}

/**
 * What a pipe gives until it ends. Blocks the process until then: for those who can do nothing without it.
 *
 * @returns undefined when there is no such file
 * @throws {KernelError} ioFailure @throws NetplugError ioFailure
 */
export function readPipe(path: string): string | undefined {
  using fd = openFile(path, O_RDONLY);
  return fd === undefined ? undefined : new TextDecoder().decode(readToEnd(fd.number, path));
}

const FOLDER = "it is a folder, want a file";
/** The kernel follows 40, and calls more of them a loop. */
const LINK_LOOP = "its symbolic links lead in a circle, or are more than 40; want a file";

/** @returns undefined also where the kernel refuses to tell: whoever reads it says why */
function tryStat(path: string): FileStat | undefined {
  return orNothing(() => statPath(path));
}

/** Whether its content has to be waited for: the command behind a shell's `<(command)`, and who types, may take their time. @throws {KernelError} ioFailure */
async function isWaitedFor(path: string, stat: FileStat): Promise<boolean> {
  if (isPipe(stat)) return true;
  if (!isCharacterDevice(stat)) return false;
  const { isatty } = await import("node:tty");
  using fd = openFile(path, O_RDONLY | O_NONBLOCK);
  return fd !== undefined && isatty(fd.number);
}

async function readStream(file: { stream(): ReadableStream<Uint8Array> }, name: string, limitBytes: number): Promise<string> {
  let bytes: Uint8Array;
  try {
    bytes = await readBytes(file.stream(), limitBytes);
  } catch (cause) {
    throw unread(name, cause);
  }
  requireAtMost(bytes.length, name, limitBytes);
  return new TextDecoder().decode(bytes);
}

/** In the words of all messages what the kernel said, whoever passes that on: Node and Bun have words of their own. */
function unread(name: string, cause: unknown): NetplugError {
  const errno = cause instanceof Error && "errno" in cause && typeof cause.errno === "number" ? Math.abs(cause.errno) : undefined;
  if (errno === undefined && cause instanceof NetplugError) return cause;
  const why = errno === undefined ? messageOf(cause) : toReason(errno);
  return new NetplugError("ioFailure", `read ${name}: ${why}`, { cause });
}

function toReason(errno: number): string {
  if (toErrnoName(errno) === "ELOOP") return LINK_LOOP;
  return errno === EISDIR ? FOLDER : toErrnoText(errno);
}

function requireAtMost(sizeBytes: number, name: string, limitBytes: number): void {
  if (sizeBytes > limitBytes) throw new NetplugError("ioFailure", `read ${name}: got more than ${limitBytes} bytes, want fewer`);
}

/** Reads to the end, but stops once it has more than `limitBytes`. */
async function readBytes(stream: ReadableStream<Uint8Array>, limitBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of stream) {
    chunks.push(chunk);
    sizeBytes += chunk.length;
    if (sizeBytes > limitBytes) break;
  }
  return Buffer.concat(chunks);
}

/** Limit for a log that comes through a pipe: its end is wanted, so all of it must be read. */
const MAX_PIPED_LOG_BYTES = 256 * 1024 * 1024;

/**
 * A log to be read in parts; what a pipe gives (`zcat old.log.gz | …`), at once. `-` is stdin.
 *
 * @returns undefined when there is no such file
 * @throws NetplugError ioFailure
 */
export async function openLog(source: string): Promise<PartedFile | undefined> {
  const path = source === "-" ? "/dev/stdin" : source;
  const name = `log ${toSourceText(source)}`;
  try {
    const stat = statPath(path);
    if (stat === undefined || stat.isFolder) return undefined;
    if (stat.isRegular) return await openParted(path, name);
    check(libc().access(toCString(path), R_OK), "open", path, "ioFailure");
    const stream = source === "-" ? Bun.stdin.stream() : (await isWaitedFor(path, stat)) ? Bun.file(path).stream() : undefined;
    const bytes =
      stream === undefined
        ? new TextEncoder().encode(linuxFiles.readText(path)) // another device, which cannot be waited for
        : await readBytes(stream, MAX_PIPED_LOG_BYTES);
    if (bytes.length <= MAX_PIPED_LOG_BYTES) {
      const read = async (start: number, end: number): Promise<Uint8Array> => await Promise.resolve(bytes.subarray(start, end));
      return { id: undefined, sizeBytes: bytes.length, read, [Symbol.dispose]: () => undefined };
    }
  } catch (cause) {
    throw unread(name, cause);
  }
  throw new NetplugError("ioFailure", `read ${name}: it is larger than ${MAX_PIPED_LOG_BYTES} bytes, want a file`);
}

/** @param name for messages @returns undefined when it has gone in the meantime */
async function openParted(path: string, name: string): Promise<PartedFile | undefined> {
  const { readSync } = await import("node:fs");
  // Not to hang where a FIFO has come in its place.
  const fd = openFile(path, O_RDONLY | O_NONBLOCK);
  if (fd === undefined) return undefined;
  const close = (): void => fd[Symbol.dispose]();
  const read = async (start: number, end: number): Promise<Uint8Array> =>
    await Promise.resolve(readPart(end - start, name, (room, at) => readSync(fd.number, room, { position: start + at })));
  try {
    const { id, sizeBytes } = statFd(fd);
    return { id, sizeBytes, read, [Symbol.dispose]: close };
  } catch (cause) {
    close();
    throw cause;
  }
}

/** @param readSome from where on, seen from the beginning of the part; 0 at the end of the file */
function readPart(sizeBytes: number, name: string, readSome: (room: Uint8Array, at: number) => number): Uint8Array {
  const bytes = new Uint8Array(sizeBytes);
  let length = 0;
  try {
    for (let got = 1; got > 0 && length < sizeBytes; length += got) got = readSome(bytes.subarray(length), length);
  } catch (cause) {
    throw unread(name, cause);
  }
  return bytes.subarray(0, length);
}
