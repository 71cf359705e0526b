/** Writes in a thread of the C library, for requests that take the kernel long. */

import { ptr } from "bun:ffi";
import { EINPROGRESS, EINTR } from "./errno.ts";
import { KernelError } from "./kernel-error.ts";
import { aioLibc, lastErrno } from "./libc.ts";

/**
 * `struct aiocb` of glibc on 64-bit machines, as far as it is filled in.
 *
 * @see aio(7)
 */
const AIOCB = { bytes: 168, fd: 0, buffer: 16, length: 24, notify: 44 } as const;
const SIGEV_NONE = 1;

/** A write that has begun. */
export interface BackgroundWrite {
  /** Waits until the kernel has taken it; to be called once. @throws {KernelError} */
  finish(): void;
}

/**
 * Begins a write of all bytes in one piece.
 *
 * @param object for the error: what is written to
 * @returns undefined when the C library does not contain these functions (glibc before 2.34), or gets no thread: nothing was written then
 */
export function startWrite(fd: number, bytes: Uint8Array, object: string): BackgroundWrite | undefined {
  const aio = aioLibc();
  if (aio === undefined) return undefined;
  const content = new Uint8Array(new ArrayBuffer(bytes.length)); // memory of its own, which stays where it is
  content.set(bytes);
  const control = new Uint8Array(new ArrayBuffer(AIOCB.bytes));
  const view = new DataView(control.buffer);
  view.setInt32(AIOCB.fd, fd, true);
  view.setBigUint64(AIOCB.buffer, BigInt(ptr(content)), true);
  view.setBigUint64(AIOCB.length, BigInt(content.length), true);
  view.setInt32(AIOCB.notify, SIGEV_NONE, true);
  if (aio.aio_write(control) !== 0) return undefined;
  const list = new BigUint64Array([BigInt(ptr(control))]);
  return {
    finish() {
      let errno = aio.aio_error(control);
      while (errno === EINPROGRESS) {
        if (aio.aio_suspend(list, 1, null) !== 0 && lastErrno() !== EINTR) throw failure(lastErrno(), object);
        errno = aio.aio_error(control);
      }
      aio.aio_return(control);
      // Also keeps the content alive for as long as the thread reads it.
      if (errno !== 0) throw failure(errno, object);
      content.fill(0);
    },
  };
}

function failure(errno: number, object: string): KernelError {
  return new KernelError({ operation: "write to", object, errno });
}
