/**
 * HTTP over sockets of our own, for processes that live for one ADD: `fetch` starts a thread and costs such a process a fifth of its
 * time (docs/design/performance.md has the figures). Only for `http://` and an address; names and TLS are left to `fetch`.
 */

import { type Address, tryParseAddress } from "../../../../lib/ip/address.ts";
import { type HttpReply, HttpReplyError, HttpReplyReader } from "./http-reply.ts";
import type { ByteStream, Clock, Connect } from "../../../../lib/ports.ts";
import { toErrnoMeaning } from "../../../../linux/errno.ts";
import { KernelError } from "../../../../linux/kernel-error.ts";
import { EtcdFailure, neverSent, NO_REPLY } from "../../protocol/failure.ts";

/** How long the process blocks while it waits for or reads a reply, before the event loop has a turn, in milliseconds. */
const SLICE_MS = 5;

interface Server {
  readonly address: Address;
  readonly port: number;
}

/** A POST with a JSON body, which is all that the gateway takes. */
export interface PlainRequest {
  readonly endpoint: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal;
}

/** Connections that are kept for the next request. */
export class PlainHttp {
  readonly #connect: Connect;
  readonly #clock: Pick<Clock, "sleep" | "monotonic">;
  readonly #idle = new Map<string, ByteStream[]>();
  #isClosed = false;

  constructor(connect: Connect, clock: Pick<Clock, "sleep" | "monotonic">) {
    this.#connect = connect;
    this.#clock = clock;
  }

  /** Whether the endpoint is one for us. */
  static serves(endpoint: string): boolean {
    return toServer(endpoint) !== undefined;
  }

  /**
   * The request is on its way when this returns; the reply is looked for only after the caller has done what it does meanwhile.
   *
   * @throws {EtcdFailure} unreachable when nothing was sent, lost when that is not certain; the signal's reason when it aborts after that
   */
  async post(request: PlainRequest): Promise<HttpReply> {
    const { endpoint, signal } = request;
    if (signal.aborted) throw neverSent(signal.reason);
    const stream = this.#takeIdle(endpoint) ?? this.#open(endpoint);
    let isKept = false;
    try {
      const bytes = toBytes(request);
      const rest = send(stream, bytes, 0);
      await Promise.resolve();
      if (rest.length > 0) await this.#sendRest(stream, rest, bytes.length, signal);
      const reply = await this.#receive(stream, signal);
      isKept = reply.isKept;
      return reply;
    } finally {
      if (isKept && !this.#isClosed) this.#keep(endpoint, stream);
      else stream[Symbol.dispose]();
    }
  }

  /** Requests on their way come to their end, and keep no connection. */
  close(): void {
    this.#isClosed = true;
    for (const streams of this.#idle.values()) for (const stream of streams) stream[Symbol.dispose]();
    this.#idle.clear();
  }

  /** An idle connection without unread bytes: one that the server closed, or wrote to unasked, must not carry the next request. */
  #takeIdle(endpoint: string): ByteStream | undefined {
    const streams = this.#idle.get(endpoint);
    for (let stream = streams?.pop(); stream !== undefined; stream = streams?.pop()) {
      if (isQuiet(stream)) return stream;
      stream[Symbol.dispose]();
    }
    return undefined;
  }

  #open(endpoint: string): ByteStream {
    const server = toServer(endpoint);
    if (server === undefined) throw new EtcdFailure("unreachable", `connect to ${endpoint}: want an address and a port`);
    try {
      return this.#connect(server.address, server.port);
    } catch (thrown) {
      throw toFailure("unreachable", thrown);
    }
  }

  #keep(endpoint: string, stream: ByteStream): void {
    const streams = this.#idle.get(endpoint);
    if (streams === undefined) this.#idle.set(endpoint, [stream]);
    else streams.push(stream);
  }

  /** A request larger than the kernel's buffer, or a connection that is not made yet. */
  async #sendRest(stream: ByteStream, bytes: Uint8Array, wholeLength: number, signal: AbortSignal): Promise<void> {
    for (let rest = bytes; ;) {
      rest = send(stream, rest, SLICE_MS, rest.length < wholeLength);
      if (rest.length === 0) return;
      const isUnsent = rest.length === wholeLength;
      await this.#giveWay(signal).catch((reason: unknown) => {
        throw isUnsent ? neverSent(reason) : reason;
      });
    }
  }

  async #receive(stream: ByteStream, signal: AbortSignal): Promise<HttpReply> {
    const reader = new HttpReplyReader();
    let lastTurn = this.#clock.monotonic();
    for (let hasBegun = false; ;) {
      const bytes = receive(stream, hasBegun);
      if (bytes?.length === 0 && !hasBegun) throw new EtcdFailure("lost", NO_REPLY);
      const reply = bytes === undefined ? undefined : readReply(reader, bytes);
      if (reply !== undefined) return reply;
      if (bytes !== undefined) hasBegun = true;
      // By the clock as well: a reply that never pauses must not hold off the time limit.
      if (bytes !== undefined && this.#clock.monotonic() - lastTurn < SLICE_MS) continue;
      await this.#giveWay(signal);
      lastTurn = this.#clock.monotonic();
    }
  }

  /** Timers, aborts and everything else that this process waits for have their turn. */
  async #giveWay(signal: AbortSignal): Promise<void> {
    await this.#clock.sleep(0);
    signal.throwIfAborted();
  }
}

/** @returns what is left to send */
function send(stream: ByteStream, bytes: Uint8Array, waitMs: number, hasBegun = false): Uint8Array {
  try {
    return bytes.subarray(stream.write(bytes, waitMs));
  } catch (thrown) {
    throw toFailure(hasBegun ? "lost" : "unreachable", thrown);
  }
}

function receive(stream: ByteStream, hasBegun: boolean): Uint8Array | undefined {
  try {
    return stream.read(SLICE_MS);
  } catch (thrown) {
    // How a TLS server ends a request of which it has not read all.
    if (!hasBegun && thrown instanceof KernelError && thrown.errnoName === "ECONNRESET") throw new EtcdFailure("lost", NO_REPLY, 0, thrown);
    throw toFailure("lost", thrown);
  }
}

function isQuiet(stream: ByteStream): boolean {
  try {
    return stream.read(0) === undefined;
  } catch {
    return false; // broken, which is no failure of a request that has another connection
  }
}

function readReply(reader: HttpReplyReader, bytes: Uint8Array): HttpReply | undefined {
  try {
    return reader.push(bytes);
  } catch (thrown) {
    if (thrown instanceof HttpReplyError) throw new EtcdFailure("lost", thrown.message, 0, thrown);
    throw thrown;
  }
}

/** In the words of the other transports. */
function toFailure(reason: "unreachable" | "lost", thrown: unknown): EtcdFailure {
  if (!(thrown instanceof KernelError)) throw thrown;
  const text = reason === "unreachable" ? toErrnoMeaning(thrown.errno) : `connection lost (${thrown.errnoName})`;
  return new EtcdFailure(reason, text, 0, thrown);
}

/** `http://127.0.0.1:2379`, `http://[fd00::1]:2379`. */
function toServer(endpoint: string): Server | undefined {
  if (!endpoint.startsWith("http://")) return undefined;
  const colon = endpoint.lastIndexOf(":");
  const host = endpoint.slice("http://".length, colon);
  const address = tryParseAddress(host.startsWith("[") ? host.slice(1, -1) : host);
  return address === undefined ? undefined : { address, port: Number(endpoint.slice(colon + 1)) };
}

function toBytes({ endpoint, path, headers, body }: PlainRequest): Uint8Array {
  const content = new TextEncoder().encode(body);
  let head = `POST ${path} HTTP/1.1\r\nhost: ${endpoint.slice("http://".length)}\r\ncontent-length: ${content.length}\r\n`;
  for (const name in headers) head += `${name}: ${headers[name]}\r\n`;
  return Bun.concatArrayBuffers([new TextEncoder().encode(`${head}\r\n`), content], Infinity, true);
}
