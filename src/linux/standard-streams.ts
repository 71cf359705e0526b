/**
 * stdin, stdout, stderr and the end of a process that lives for one call: Bun's own streams start threads, and its orderly end takes down a
 * runtime that nobody needs any more.
 */

import { F_GETFD, FD_CLOEXEC, POLLIN, POLLOUT } from "./constants.ts";
import { EAGAIN, EBADF } from "./errno.ts";
import { readToEnd } from "./files.ts";
import { check, KernelError } from "./kernel-error.ts";
import { lastErrno, libc, untilDone } from "./libc.ts";

const STDIN = 0;
const STDOUT = 1;
const STDERR = 2;
/** A caller writes its few bytes at once and closes, and reads ours; one that does neither is not waited for. Milliseconds. */
const SILENCE_MS = 10_000;
/** How long an output that nobody reads may hold up a call that has no time left, once; and a log any call. Milliseconds. */
const STALL_MS = 1_000;
/** What a pipe takes without blocking whenever it takes anything (`PIPE_BUF`). */
const PIPE_BYTES = 4096;

let isStdoutRead = true;
let isStderrRead = true;

/**
 * Whether whoever started this process closed the stream (`>&-`). Bun then opens `/dev/null` in its place, which takes everything. What was
 * inherited is never closed on `exec`; what Bun opens is.
 */
export function wasClosed(fd: 0 | 1 | 2): boolean {
  return (libc().fcntl(fd, F_GETFD) & FD_CLOEXEC) !== 0;
}

/**
 * Everything on stdin. Blocks until the other side ends it.
 *
 * @throws {KernelError} ioFailure
 * @throws {TypeError} it is no UTF-8
 * @throws {Error} it neither went on nor ended
 */
export function readStdin(silenceMs = SILENCE_MS): string {
  const wait = (): void => {
    if (!isReady(STDIN, POLLIN, silenceMs)) throw new Error(`nothing came for ${silenceMs} ms, and it is still open; want it closed`);
  };
  return new TextDecoder("utf-8", { fatal: true }).decode(readToEnd(STDIN, "stdin", wait));
}

/**
 * Returns when all of the text is written, also to a pipe that is full but read.
 *
 * @param remainingMs what the call has left. Where nobody reads, it is waited for: 1 s at least, 10 s at most, and after that not again
 * @throws {KernelError} ioFailure
 */
export function writeStdout(text: string, remainingMs = () => 0): void {
  if (wasClosed(STDOUT)) throw unwritten(EBADF);
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length;) {
    const waitMs = isStdoutRead ? Math.max(STALL_MS, Math.min(SILENCE_MS, remainingMs())) : 0;
    isStdoutRead = isReady(STDOUT, POLLOUT, waitMs);
    if (!isStdoutRead) throw unwritten(EAGAIN, "nobody reads it");
    const part = bytes.subarray(at, at + PIPE_BYTES);
    const written = untilDone(() => libc().write(STDOUT, part, part.length));
    // Somebody else who writes there was quicker.
    if (written < 0 && lastErrno() === EAGAIN) continue;
    at += check(written, "write", "stdout", "ioFailure");
  }
}

/** One line of the log. Where nobody reads a pipe that is full, it and all that follow are lost: a log fails and holds up no call. */
export function writeStderr(line: string): void {
  const bytes = new TextEncoder().encode(`${line}\n`);
  for (let at = 0; isStderrRead && at < bytes.length; at += PIPE_BYTES) {
    const part = bytes.subarray(at, at + PIPE_BYTES);
    isStderrRead = isReady(STDERR, POLLOUT, STALL_MS) && libc().write(STDERR, part, part.length) > 0;
  }
}

/** Ends the process at once: nothing is closed, flushed or awaited. */
export function endProcess(status: number): never {
  libc()._exit(status);
  throw new Error("end process: it goes on");
}

function unwritten(errno: number, reason?: string): KernelError {
  return new KernelError({ operation: "write", object: "stdout", errno, reason, kind: "ioFailure" });
}

function isReady(fd: number, events: number, timeoutMs: number): boolean {
  return untilDone(() => libc().poll(new Int32Array([fd, events]), 1n, timeoutMs)) > 0;
}
