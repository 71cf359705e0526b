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
const FOR_EVER = -1;
/** A caller writes its few bytes at once and closes; one that does neither is not waited for. Milliseconds. */
const SILENCE_MS = 10_000;
/** How long a log may hold up a call, once. Milliseconds. */
const STALL_MS = 1_000;
/** What a pipe takes without blocking whenever it takes anything (`PIPE_BUF`). */
const PIPE_BYTES = 4096;

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

/** Returns when all of the text is written, also to a pipe that is full. @throws {KernelError} ioFailure */
export function writeStdout(text: string): void {
  if (wasClosed(STDOUT)) throw new KernelError({ operation: "write", object: "stdout", errno: EBADF, kind: "ioFailure" });
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length;) {
    const rest = bytes.subarray(at);
    const written = untilDone(() => libc().write(STDOUT, rest, rest.length));
    if (written < 0 && lastErrno() === EAGAIN) {
      isReady(STDOUT, POLLOUT, FOR_EVER);
      continue;
    }
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

function isReady(fd: number, events: number, timeoutMs: number): boolean {
  return untilDone(() => libc().poll(new Int32Array([fd, events]), 1n, timeoutMs)) > 0;
}
