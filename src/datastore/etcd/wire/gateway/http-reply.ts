/** Replies of HTTP/1.1, read from pieces as they come. */

/** What a server answered to one request, once all of it is here. */
export interface HttpReply {
  readonly status: number;
  /** The whole body, decoded as UTF-8. */
  readonly body: string;
  /** Whether the connection may carry another request. */
  readonly isKept: boolean;
}

/** Bytes that are no reply, or one that we did not ask for. */
export class HttpReplyError extends SyntaxError {
  override readonly name = "HttpReplyError";
}

/** More than this before a body, in a line between its chunks or behind the last one is not HTTP: bytes. */
const LONGEST_HEAD = 64 * 1024;

/** Bytes with their framing: many times what anybody asks for; a limit, so that no server can fill the memory. */
const LONGEST_BODY = 256 * 1024 * 1024;

const CARRIAGE_RETURN = 13;
const LINE_FEED = 10;

/** How the end of a body is found. */
type Framing = { readonly length: number } | "chunked" | "until-end";

interface Head {
  readonly status: number;
  readonly framing: Framing;
  readonly isKept: boolean;
}

/** Chunks that are complete, as offsets in the body: each is parsed once, however many pieces the body comes in. */
interface Chunks {
  readonly ranges: (readonly [start: number, end: number])[];
  /** Where the next one begins; behind the last one, where the reply ends. */
  next: number;
}

/** Takes the bytes of one reply. */
export class HttpReplyReader {
  /** Bytes not parsed yet, with spare room, so that not every piece of a long body copies all before it. */
  #buffer: Uint8Array = new Uint8Array();
  #length = 0;
  #head: Head | undefined;
  readonly #chunks: Chunks = { ranges: [], next: 0 };

  /**
   * @param bytes empty: the other side ended the connection
   * @returns the reply once it is complete
   * @throws {HttpReplyError}
   */
  push(bytes: Uint8Array): HttpReply | undefined {
    this.#append(bytes);
    this.#head ??= this.#takeHead();
    if (this.#head === undefined) {
      if (bytes.length === 0) throw new HttpReplyError("read HTTP reply: the connection ended before it");
      return undefined;
    }
    const { status, isKept, framing } = this.#head;
    const body = this.#takeBody(framing, bytes.length === 0);
    if (body !== undefined) return { status, isKept: isKept && !this.#hasMore(framing), body: new TextDecoder().decode(body) };
    if (this.#length > LONGEST_BODY) throw bodyTooLong();
    if (bytes.length === 0) throw new HttpReplyError("read HTTP reply: the connection ended inside its body");
    return undefined;
  }

  get #bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#length);
  }

  #append(bytes: Uint8Array): void {
    const length = this.#length + bytes.length;
    if (this.#length === 0) this.#buffer = bytes;
    else {
      if (length > this.#buffer.length) {
        const larger = new Uint8Array(2 * length);
        larger.set(this.#bytes);
        this.#buffer = larger;
      }
      this.#buffer.set(bytes, this.#length);
    }
    this.#length = length;
  }

  #takeHead(): Head | undefined {
    for (;;) {
      const end = findEndOfHead(this.#bytes);
      if (end === undefined) {
        if (this.#length > LONGEST_HEAD) throw new HttpReplyError(`read HTTP reply: its head is longer than ${LONGEST_HEAD} bytes`);
        return undefined;
      }
      const head = parseHead(new TextDecoder().decode(this.#bytes.subarray(0, end)));
      this.#buffer = this.#buffer.subarray(end + 4);
      this.#length -= end + 4;
      // 100 (continue) and the like only announce the reply.
      if (head.status >= 200) return head;
    }
  }

  /** Whether bytes follow the complete reply: nobody asked for them, and they must not count as the next reply. */
  #hasMore(framing: Framing): boolean {
    if (framing === "until-end") return false;
    return this.#length > (framing === "chunked" ? this.#chunks.next : framing.length);
  }

  /** @returns the body without its framing; undefined while bytes are missing */
  #takeBody(framing: Framing, hasEnded: boolean): Uint8Array | undefined {
    if (framing === "until-end") return hasEnded ? this.#bytes : undefined;
    if (framing === "chunked") return joinChunks(this.#bytes, this.#chunks);
    return this.#length < framing.length ? undefined : this.#bytes.subarray(0, framing.length);
  }
}

function bodyTooLong(): HttpReplyError {
  return new HttpReplyError(`read HTTP reply: its body is longer than ${LONGEST_BODY} bytes`);
}

function parseHead(text: string): Head {
  const lines = text.split("\r\n");
  const [protocol = "", statusText = ""] = (lines[0] ?? "").split(" ");
  const status = toNumber(statusText, 10) ?? 0;
  if (!protocol.startsWith("HTTP/1.") || !(status >= 100 && status <= 599)) {
    throw new HttpReplyError(`read HTTP reply: got ${JSON.stringify(text.slice(0, 40))}, want HTTP/1.1`);
  }
  let length: number | undefined;
  let isChunked = false;
  let isKept = protocol === "HTTP/1.1";
  for (const line of lines.slice(1)) {
    const colon = line.indexOf(":");
    const value = line
      .slice(colon + 1)
      .trim()
      .toLowerCase();
    switch (line.slice(0, colon).toLowerCase()) {
      case "content-length": {
        const own = toNumber(value, 10);
        if (own === undefined) throw new HttpReplyError("read HTTP reply: its content-length is no number");
        if (own > LONGEST_BODY) throw bodyTooLong();
        if (length !== undefined && length !== own) throw new HttpReplyError("read HTTP reply: it has two lengths");
        length = own;
        break;
      }
      case "transfer-encoding":
        if (value !== "chunked") throw new HttpReplyError("read HTTP reply: its transfer-encoding is another than chunked");
        isChunked = true;
        break;
      case "connection":
        isKept = value !== "close" && isKept;
        break;
    }
  }
  if (isChunked) return { status, framing: "chunked", isKept };
  if (status === 204 || status === 304) return { status, framing: { length: 0 }, isKept };
  return length === undefined ? { status, framing: "until-end", isKept: false } : { status, framing: { length }, isKept };
}

/** @returns the chunks put together; undefined while the last one is missing */
function joinChunks(bytes: Uint8Array, chunks: Chunks): Uint8Array | undefined {
  for (;;) {
    const lineEnd = bytes.indexOf(LINE_FEED, chunks.next);
    const lineLength = (lineEnd < 0 ? bytes.length : lineEnd) - chunks.next;
    if (lineLength > LONGEST_HEAD) throw new HttpReplyError(`read HTTP reply: a line between chunks is longer than ${LONGEST_HEAD} bytes`);
    if (lineEnd < 0) return undefined;
    // After a semicolon come extensions, which nobody has to know.
    const [sizeText = ""] = new TextDecoder().decode(bytes.subarray(chunks.next, lineEnd)).split(";", 1);
    const size = toNumber(sizeText.trim().toLowerCase(), 16);
    if (size === undefined) throw new HttpReplyError("read HTTP reply: the size of a chunk is no number");
    const [start, end] = [lineEnd + 1, lineEnd + 1 + size];
    if (size === 0) {
      // After the last chunk may come trailers, which end with an empty line.
      const last = findEndOfHead(bytes, lineEnd - 1);
      if (last !== undefined) {
        chunks.next = last + 4;
        const parts = chunks.ranges.map(([from, to]) => bytes.subarray(from, to));
        return parts.length === 1 ? parts[0] : Bun.concatArrayBuffers(parts, Infinity, true);
      }
      if (bytes.length - lineEnd > LONGEST_HEAD)
        throw new HttpReplyError(`read HTTP reply: its trailers are longer than ${LONGEST_HEAD} bytes`);
      return undefined;
    }
    if (bytes.length < end + 2) return undefined;
    if (bytes[end] !== CARRIAGE_RETURN || bytes[end + 1] !== LINE_FEED)
      throw new HttpReplyError("read HTTP reply: a chunk is longer than it says");
    chunks.ranges.push([start, end]);
    chunks.next = end + 2;
  }
}

/**
 * Digits and nothing else: a sign, a dot or an exponent would make a length that sends the reader backwards.
 *
 * @returns undefined for other text
 */
function toNumber(text: string, radix: 10 | 16): number | undefined {
  for (let i = 0; i < text.length; i++) {
    if (!"0123456789abcdef".slice(0, radix).includes(text.charAt(i))) return undefined;
  }
  const number = Number.parseInt(text, radix);
  return Number.isSafeInteger(number) ? number : undefined;
}

/** Where an empty line follows; its bytes are `\r\n\r\n`. */
function findEndOfHead(bytes: Uint8Array, from = 0): number | undefined {
  for (let at = bytes.indexOf(LINE_FEED, from); at >= 0; at = bytes.indexOf(LINE_FEED, at + 1)) {
    if (bytes[at + 1] === CARRIAGE_RETURN && bytes[at + 2] === LINE_FEED) return at - 1;
  }
  return undefined;
}
