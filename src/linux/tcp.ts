/** TCP connections whose calls return at once, for a process that can afford to wait in `poll()` itself. */

import type { ByteStream } from "../lib/ports.ts";
import { type Address, toAddressBytes, toAddressText } from "../lib/ip/address.ts";
import { O_NONBLOCK, POLLIN, POLLOUT, SOCK_CLOEXEC } from "./constants.ts";
import { EAGAIN, EINPROGRESS } from "./errno.ts";
import { Fd } from "./fd.ts";
import { check, KernelError } from "./kernel-error.ts";
import { lastErrno, libc, untilDone } from "./libc.ts";
import { AF_INET, AF_INET6 } from "./netlink/constants.ts";

const SOCK_STREAM = 1;
const SOCK_NONBLOCK = O_NONBLOCK;
const IPPROTO_TCP = 6;
const TCP_NODELAY = 1;
const MSG_NOSIGNAL = 0x4000;

/** Most that one call takes from the kernel, in bytes. */
const CHUNK_BYTES = 64 * 1024;

/**
 * Begins to connect; whether that succeeds is seen by what is written or read.
 *
 * @throws {KernelError} ioFailure when the kernel knows at once that it cannot
 */
export function connectTcp(address: Address, port: number): ByteStream {
  const family = address.family === 4 ? AF_INET : AF_INET6;
  const fd = new Fd(check(libc().socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), "open socket", "tcp", "ioFailure"));
  const on = new Uint8Array([1, 0, 0, 0]);
  libc().setsockopt(fd.number, IPPROTO_TCP, TCP_NODELAY, on, on.length); // an improvement only
  const target = toSocketAddress(address, port);
  if (libc().connect(fd.number, target, target.length) < 0) {
    const errno = lastErrno();
    if (errno !== EINPROGRESS) {
      fd[Symbol.dispose]();
      throw new KernelError({ operation: "connect to", object: `${toAddressText(address)} port ${port}`, errno, kind: "ioFailure" });
    }
  }
  return new TcpStream(fd);
}

class TcpStream implements ByteStream {
  readonly #fd: Fd;
  readonly #chunk = new Uint8Array(CHUNK_BYTES);

  constructor(fd: Fd) {
    this.#fd = fd;
  }

  write(bytes: Uint8Array, waitMs: number): number {
    for (let hasWaited = false; ; hasWaited = true) {
      const sent = untilDone(() => libc().send(this.#fd.number, bytes, bytes.length, MSG_NOSIGNAL));
      if (sent >= 0) return sent;
      requireAlive(lastErrno(), "write to");
      if (hasWaited) return 0;
      this.#poll(POLLOUT, waitMs);
    }
  }

  read(waitMs: number): Uint8Array | undefined {
    for (let hasWaited = false; ; hasWaited = true) {
      const received = untilDone(() => libc().recv(this.#fd.number, this.#chunk, CHUNK_BYTES, 0));
      if (received >= 0) return this.#chunk.slice(0, received);
      requireAlive(lastErrno(), "read from");
      if (hasWaited || waitMs === 0) return undefined;
      this.#poll(POLLIN, waitMs);
    }
  }

  [Symbol.dispose](): void {
    this.#fd[Symbol.dispose]();
  }

  /** Until something happens on the socket; an interruption ends the wait early, which is no harm. */
  #poll(events: number, waitMs: number): void {
    const request = new Int32Array([this.#fd.number, events]);
    libc().poll(request, 1n, Math.ceil(waitMs));
  }
}

/** @throws {KernelError} unless the connection only wants to be waited for */
function requireAlive(errno: number, operation: string): void {
  if (errno !== EAGAIN) throw new KernelError({ operation, object: "connection", errno, kind: "ioFailure" });
}

/** `struct sockaddr_in` or `sockaddr_in6`. */
function toSocketAddress(address: Address, port: number): Uint8Array {
  const isV4 = address.family === 4;
  const bytes = new Uint8Array(isV4 ? 16 : 28);
  new DataView(bytes.buffer).setUint16(0, isV4 ? AF_INET : AF_INET6, true);
  new DataView(bytes.buffer).setUint16(2, port, false);
  bytes.set(toAddressBytes(address), isV4 ? 4 : 8);
  return bytes;
}
