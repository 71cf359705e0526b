/**
 * The C library: the only way to the kernel. Each table of functions is opened once, and only when something needs one of them: most
 * processes need only the first.
 */

import { dlopen, read } from "bun:ffi";
import { messageOf, NetplugError } from "../lib/errors.ts";
import { EINTR } from "./errno.ts";

/** glibc 2.28 (for `statx`) or later; each further symbol costs about 5 µs of the 0.2 ms. */
const LIBRARY = "libc.so.6";

/** `ssize_t` is declared as 32 bits: no buffer of ours is larger, and a plain number comes back. */
const SYMBOLS = {
  __errno_location: { args: [], returns: "ptr" },
  _exit: { args: ["i32"], returns: "void" },
  access: { args: ["ptr", "i32"], returns: "i32" },
  clock_gettime: { args: ["i32", "ptr"], returns: "i32" },
  close: { args: ["i32"], returns: "i32" },
  connect: { args: ["i32", "ptr", "u32"], returns: "i32" },
  fcntl: { args: ["i32", "i32"], returns: "i32" },
  flock: { args: ["i32", "i32"], returns: "i32" },
  fstatfs: { args: ["i32", "ptr"], returns: "i32" },
  ioctl: { args: ["i32", "u64"], returns: "i32" },
  open: { args: ["ptr", "i32", "u32"], returns: "i32" },
  poll: { args: ["ptr", "u64", "i32"], returns: "i32" },
  read: { args: ["i32", "ptr", "u64"], returns: "i32" },
  recv: { args: ["i32", "ptr", "u64", "i32"], returns: "i32" },
  send: { args: ["i32", "ptr", "u64", "i32"], returns: "i32" },
  setns: { args: ["i32", "i32"], returns: "i32" },
  setsockopt: { args: ["i32", "i32", "i32", "ptr", "u32"], returns: "i32" },
  socket: { args: ["i32", "i32", "i32"], returns: "i32" },
  statx: { args: ["i32", "ptr", "i32", "u32", "ptr"], returns: "i32" },
  write: { args: ["i32", "ptr", "u64"], returns: "i32" },
} as const;

/** What changes folders or watches them: needed by few, so opened apart. */
const RARE_SYMBOLS = {
  closedir: { args: ["ptr"], returns: "i32" },
  fchmod: { args: ["i32", "u32"], returns: "i32" },
  inotify_add_watch: { args: ["i32", "ptr", "u32"], returns: "i32" },
  inotify_init1: { args: ["i32"], returns: "i32" },
  mkdir: { args: ["ptr", "u32"], returns: "i32" },
  mkfifo: { args: ["ptr", "u32"], returns: "i32" },
  opendir: { args: ["ptr"], returns: "ptr" },
  readdir: { args: ["ptr"], returns: "ptr" },
  rename: { args: ["ptr", "ptr"], returns: "i32" },
  renameat2: { args: ["i32", "ptr", "i32", "ptr", "u32"], returns: "i32" },
  unlink: { args: ["ptr"], returns: "i32" },
} as const;

/** What an installer needs for files that must be whole after a power failure. */
const DURABLE_SYMBOLS = {
  fsync: { args: ["i32"], returns: "i32" },
  link: { args: ["ptr", "ptr"], returns: "i32" },
} as const;

/** Writes that a thread of the library carries out: in there with glibc 2.34 or later. */
const AIO_SYMBOLS = {
  aio_error: { args: ["ptr"], returns: "i32" },
  aio_return: { args: ["ptr"], returns: "i32" },
  aio_suspend: { args: ["ptr", "i32", "ptr"], returns: "i32" },
  aio_write: { args: ["ptr"], returns: "i32" },
} as const;

type Library = ReturnType<typeof dlopen<typeof SYMBOLS>>;
type RareLibrary = ReturnType<typeof dlopen<typeof RARE_SYMBOLS>>;
type DurableLibrary = ReturnType<typeof dlopen<typeof DURABLE_SYMBOLS>>;
type AioLibrary = ReturnType<typeof dlopen<typeof AIO_SYMBOLS>>;

/** The functions that nearly every call of the plugin needs. */
export type Libc = Library["symbols"];
/** Those that only some calls need: opened by the first that does. */
export type RareLibc = RareLibrary["symbols"];

let library: Library | undefined;
let rareLibrary: RareLibrary | undefined;
let durableLibrary: DurableLibrary | undefined;
let aioLibrary: AioLibrary | "missing" | undefined;
let errnoPointer: ReturnType<Libc["__errno_location"]> = null;

/**
 * The functions that an ADD and a DEL need. All are synchronous and block the event loop.
 *
 * @throws {NetplugError} kernelRefused where it cannot be loaded: without memory that is writable and executable there is no `bun:ffi`
 */
export function libc(): Libc {
  library ??= openLibrary();
  return library.symbols;
}

/** The functions that few processes need; otherwise as {@link libc}. */
export function rareLibc(): RareLibc {
  // For the place of errno.
  libc();
  rareLibrary ??= dlopen(LIBRARY, RARE_SYMBOLS);
  return rareLibrary.symbols;
}

/** The functions that only an installer needs; otherwise as {@link libc}. */
export function durableLibc(): DurableLibrary["symbols"] {
  libc();
  durableLibrary ??= dlopen(LIBRARY, DURABLE_SYMBOLS);
  return durableLibrary.symbols;
}

/** As {@link libc}; undefined where the library has no such functions: older ones have them in another. */
export function aioLibc(): AioLibrary["symbols"] | undefined {
  libc();
  if (aioLibrary === undefined) {
    try {
      aioLibrary = dlopen(LIBRARY, AIO_SYMBOLS);
    } catch {
      aioLibrary = "missing";
    }
  }
  return aioLibrary === "missing" ? undefined : aioLibrary.symbols;
}

/**
 * Why the call before failed. To be read in the very next statement, before anything else is called or awaited: it is the C
 * library's per-thread variable, and the next call may change it.
 */
export function lastErrno(): number {
  return errnoPointer === null ? 0 : read.i32(errnoPointer, 0);
}

/** Makes a call again for as long as a signal interrupts it. @returns what it returned; {@link lastErrno} still says why it failed */
export function untilDone(call: () => number): number {
  for (;;) {
    const result = call();
    if (result >= 0 || lastErrno() !== EINTR) return result;
  }
}

/**
 * Text as the kernel reads it.
 *
 * @throws {RangeError} it holds a NUL, after which the kernel would see another text than we do
 */
export function toCString(text: string): Uint8Array {
  if (text.includes("\0")) throw new RangeError(`hand ${JSON.stringify(text.slice(0, 80))} to the kernel: a NUL is inside`);
  return new TextEncoder().encode(`${text}\0`);
}

function openLibrary(): Library {
  let opened: Library;
  try {
    opened = dlopen(LIBRARY, SYMBOLS);
  } catch (cause) {
    throw new NetplugError(
      "kernelRefused",
      `load C library "${LIBRARY}": ${messageOf(cause)}; want glibc 2.28 or newer, and a caller that allows executable memory, and enough (MemoryDenyWriteExecute, LimitAS, LimitDATA of systemd)`,
      { cause },
    );
  }
  errnoPointer = opened.symbols.__errno_location();
  return opened;
}
