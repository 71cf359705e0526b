/** Advisory locks between processes, waited for a bounded time. */

import type { Clock } from "../lib/ports.ts";
import { O_RDWR } from "./constants.ts";
import { EAGAIN } from "./errno.ts";
import type { Fd } from "./fd.ts";
import { openOrMake } from "./files.ts";
import { KernelError } from "./kernel-error.ts";
import { lastErrno, libc, untilDone } from "./libc.ts";

/** @see include/uapi/asm-generic/fcntl.h */
const LOCK_EX = 2;
const LOCK_NB = 4;
const LOCK_UN = 8;

const LOCK_MODE = 0o600;
/** Milliseconds between tries: at first as short as an ADD's critical part. */
const FIRST_PAUSE_MS = 1;
const LONGEST_PAUSE_MS = 8;

/** How long a lock is waited for. */
export interface LockOptions {
  /** How long to wait for another holder, in milliseconds. */
  readonly waitMs: number;
  readonly clock: Pick<Clock, "monotonic" | "sleep">;
}

/**
 * Takes the lock on a file, which is made (with its folders) when it is missing and stays afterwards. The kernel ends the lock with
 * the process that holds it. A second call in one process waits like any other.
 *
 * @returns undefined when somebody else had it all the time; dispose of it to unlock
 * @throws {KernelError} ioFailure when the file cannot be made or locked
 */
export async function takeLock(path: string, { waitMs, clock }: LockOptions): Promise<Disposable | undefined> {
  const fd = openLock(path);
  let isTaken = false;
  try {
    const end = clock.monotonic() + waitMs;
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      isTaken = tryLock(fd, path);
      if (isTaken) return fd;
      const leftMs = end - clock.monotonic();
      if (leftMs <= 0) return undefined;
      await clock.sleep(Math.min(pauseMs, leftMs));
    }
  } finally {
    if (!isTaken) fd[Symbol.dispose]();
  }
}

/**
 * Opens the file that is locked, which is made (with its folders) when it is missing.
 *
 * @throws {KernelError} ioFailure when it cannot be made
 */
export function openLock(path: string): Fd {
  return openOrMake(path, O_RDWR, LOCK_MODE);
}

/**
 * Takes the lock on an open file, network namespaces among them, without waiting. It ends with the descriptor.
 *
 * @param path for the error
 * @returns whether nobody else had it
 * @throws {KernelError} ioFailure
 */
export function tryLock(fd: Fd, path: string): boolean {
  if (untilDone(() => libc().flock(fd.number, LOCK_EX | LOCK_NB)) === 0) return true;
  const errno = lastErrno();
  if (errno === EAGAIN) return false;
  throw new KernelError({ operation: "lock", object: path, errno, kind: "ioFailure" });
}

/** Releases a lock whose file stays open. */
export function unlock(fd: Fd): void {
  libc().flock(fd.number, LOCK_UN);
}
