/**
 * stdin, stdout and the end of a process that lives for one call: Bun's own streams start threads, and its orderly end takes down a
 * runtime that nobody needs any more.
 */

import { POLLIN, POLLOUT } from "./constants.ts";
import { EAGAIN } from "./errno.ts";
import { readToEnd } from "./files.ts";
import { check } from "./kernel-error.ts";
import { lastErrno, libc, untilDone } from "./libc.ts";

const STDIN = 0;
const STDOUT = 1;
const FOR_EVER = -1;

/** Everything on stdin. Blocks until the other side ends it. @throws {KernelError} ioFailure @throws {TypeError} it is no UTF-8 */
export function readStdin(): string {
  return new TextDecoder("utf-8", { fatal: true }).decode(readToEnd(STDIN, "stdin", () => waitFor(STDIN, POLLIN)));
}

/** Returns when all of the text is written, also to a pipe that is full. @throws {KernelError} ioFailure */
export function writeStdout(text: string): void {
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length;) {
    const rest = bytes.subarray(at);
    const written = untilDone(() => libc().write(STDOUT, rest, rest.length));
    if (written < 0 && lastErrno() === EAGAIN) {
      waitFor(STDOUT, POLLOUT);
      continue;
    }
    at += check(written, "write", "stdout", "ioFailure");
  }
}

/** Ends the process at once: nothing is closed, flushed or awaited. */
export function endProcess(status: number): never {
  libc()._exit(status);
  throw new Error("end process: it goes on");
}

function waitFor(fd: number, events: number): void {
  libc().poll(new Int32Array([fd, events]), 1n, FOR_EVER);
}
