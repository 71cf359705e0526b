/** Network namespaces: opening, telling apart, and working inside one. */

import { NetplugError } from "../lib/errors.ts";
import { quote } from "../lib/quote.ts";
import { O_CLOEXEC, O_NOCTTY, O_NONBLOCK, O_RDONLY } from "./constants.ts";
import { EMFILE, ENFILE, ENOENT, ENOMEM, ENOTDIR, toErrnoText } from "./errno.ts";
import { Fd } from "./fd.ts";
import { check, KernelError } from "./kernel-error.ts";
import { lastErrno, libc, toCString, untilDone } from "./libc.ts";
import { statFd } from "./stat.ts";

/** @see include/uapi/linux/sched.h */
const CLONE_NEWNET = 0x40000000;
/** @see include/uapi/linux/magic.h */
const NSFS_MAGIC = 0x6e736673;
/** `_IO(0xb7, 3)`, @see include/uapi/linux/nsfs.h */
const NS_GET_NSTYPE = 0xb703;
/** `sizeof(struct statfs)` is 120; its first word is `f_type`. */
const STATFS_BYTES = 128;

const OWN = "/proc/thread-self/ns/net";

/** These say nothing about the namespace. */
const SHORTAGES: readonly number[] = [ENOMEM, ENFILE, EMFILE];

/** An open network namespace. It lives at least as long as this stays open. */
export interface Netns extends Disposable {
  /** As the caller named it. */
  readonly path: string;
  readonly fd: Fd;
  /** Identifies the namespace among all that are open. */
  readonly id: string;
}

/**
 * Opens the network namespace that `path` names.
 *
 * @returns undefined when nothing is there
 * @throws {NetplugError} badNetns when it cannot be opened or is something else
 * @throws {KernelError} that cannot be told now
 */
export function openNetns(path: string): Netns | undefined {
  const number = openPath(path);
  if (number < 0) {
    const errno = -number;
    if (errno === ENOENT || errno === ENOTDIR) return undefined;
    throw new NetplugError("badNetns", `open network namespace ${quote(path)}: ${toErrnoText(errno)}`);
  }
  const fd = new Fd(number);
  if (!isNetns(fd)) {
    fd[Symbol.dispose]();
    throw new NetplugError("badNetns", `open network namespace ${quote(path)}: it exists, but is no network namespace`);
  }
  return { path, fd, id: statFd(fd).id, [Symbol.dispose]: () => fd[Symbol.dispose]() };
}

/** Whether this thread is in the namespace. */
export function isOwnNetns(netns: Netns): boolean {
  using own = openOwn();
  return netns.id === statFd(own).id;
}

/**
 * Whether its path still names it. An open namespace lives on without its name, but nobody else finds it.
 *
 * @throws {KernelError} that cannot be told now
 */
export function isNamed(netns: Netns): boolean {
  const number = openPath(netns.path);
  if (number < 0) return false;
  using named = new Fd(number);
  return statFd(named).id === netns.id;
}

/**
 * Runs `work` inside a network namespace. Synchronous, and must stay so: `setns` moves this thread only, and a thread that the
 * runtime starts meanwhile would stay there for ever. Best used to open a netlink socket, which keeps its namespace.
 *
 * Ends the process when there is no way back: nothing that runs afterwards would reach the right interfaces.
 *
 * @throws {TypeError} `work` returned a promise, which would have gone on outside
 */
export function inNetns<T>(netns: Netns, work: () => T): T {
  using own = openOwn();
  check(libc().setns(netns.fd.number, CLONE_NEWNET), "enter network namespace", netns.path);
  let result: T;
  try {
    result = work();
  } finally {
    returnTo(own);
  }
  if (isPromise(result)) throw new TypeError(`work in network namespace ${quote(netns.path)}: it must be synchronous, got a promise`);
  return result;
}

/** @returns the descriptor, or minus the error's number @throws {KernelError} a shortage */
function openPath(path: string): number {
  // Not to hang when somebody hands us a FIFO or a terminal.
  const number = libc().open(toCString(path), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
  if (number >= 0) return number;
  const errno = lastErrno();
  if (SHORTAGES.includes(errno)) throw new KernelError({ operation: "open network namespace", object: path, errno });
  return -errno;
}

function openOwn(): Fd {
  return new Fd(check(libc().open(toCString(OWN), O_RDONLY | O_CLOEXEC, 0), "open network namespace", OWN));
}

function returnTo(own: Fd): void {
  if (untilDone(() => libc().setns(own.number, CLONE_NEWNET)) === 0) return;
  console.error("netplug: return to the own network namespace: the kernel refused; ending the process");
  process.abort();
}

function isNetns(fd: Fd): boolean {
  const statfs = new Uint8Array(STATFS_BYTES);
  if (libc().fstatfs(fd.number, statfs) < 0) return false;
  const isNsfs = new DataView(statfs.buffer).getUint32(0, true) === NSFS_MAGIC;
  return isNsfs && libc().ioctl(fd.number, NS_GET_NSTYPE) === CLONE_NEWNET;
}

function isPromise(value: unknown): boolean {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
