/** Replies of HTTP/1.1, read from pieces as they come. */

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

/** More than this before a body is not HTTP: bytes. */
const LONGEST_HEAD = 64 * 1024;

/** How the end of a body is found. */
type Framing = { readonly length: number } | "chunked" | "until-end";

interface Head {
  readonly status: number;
  readonly framing: Framing;
  readonly isKept: boolean;
}

/** Takes the bytes of one reply. */
export class HttpReplyReader {
  /** One character per byte until the body is complete. */
  #text = "";
  #head: Head | undefined;

  /**
   * @param bytes empty: the other side ended the connection
   * @returns the reply once it is complete
   * @throws {HttpReplyError}
   */
  push(bytes: Uint8Array): HttpReply | undefined {
    this.#text += toBinaryText(bytes);
    this.#head ??= this.#takeHead();
    if (this.#head === undefined) {
      if (bytes.length === 0) throw new HttpReplyError("read HTTP reply: the connection ended before it");
      return undefined;
    }
    const body = takeBody(this.#text, this.#head.framing, bytes.length === 0);
    if (body === undefined) {
      if (bytes.length === 0) throw new HttpReplyError("read HTTP reply: the connection ended inside its body");
      return undefined;
    }
    const { status, isKept } = this.#head;
    return { status, isKept, body: fromBinaryText(body) };
  }

  /** Whether anything of the reply is there. */
  get hasBegun(): boolean {
    return this.#text !== "" || this.#head !== undefined;
  }

  #takeHead(): Head | undefined {
    for (;;) {
      const end = this.#text.indexOf("\r\n\r\n");
      if (end < 0) {
        if (this.#text.length > LONGEST_HEAD) throw new HttpReplyError(`read HTTP reply: its head is longer than ${LONGEST_HEAD} bytes`);
        return undefined;
      }
      const head = parseHead(this.#text.slice(0, end));
      this.#text = this.#text.slice(end + 4);
      // 100 (continue) and the like only announce the reply.
      if (head.status >= 200) return head;
    }
  }
}

function parseHead(text: string): Head {
  const lines = text.split("\r\n");
  const [protocol = "", statusText = ""] = (lines[0] ?? "").split(" ");
  const status = Number(statusText);
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
      case "content-length":
        length = Number(value);
        break;
      case "transfer-encoding":
        isChunked = value === "chunked";
        break;
      case "connection":
        isKept = value !== "close" && isKept;
        break;
    }
  }
  if (length !== undefined && !Number.isSafeInteger(length)) throw new HttpReplyError("read HTTP reply: its content-length is no number");
  if (isChunked) return { status, framing: "chunked", isKept };
  if (status === 204 || status === 304) return { status, framing: { length: 0 }, isKept };
  return length === undefined ? { status, framing: "until-end", isKept: false } : { status, framing: { length }, isKept };
}

/** @returns the body without its framing; undefined while bytes are missing */
function takeBody(text: string, framing: Framing, hasEnded: boolean): string | undefined {
  if (framing === "until-end") return hasEnded ? text : undefined;
  if (framing !== "chunked") return text.length < framing.length ? undefined : text.slice(0, framing.length);
  let body = "";
  for (let at = 0; ;) {
    const lineEnd = text.indexOf("\r\n", at);
    if (lineEnd < 0) return undefined;
    const size = Number.parseInt(text.slice(at, lineEnd), 16);
    if (Number.isNaN(size)) throw new HttpReplyError("read HTTP reply: the size of a chunk is no number");
    const end = lineEnd + 2 + size;
    // behind the last chunk may stand trailers, which end with an empty line
    if (size === 0) return text.includes("\r\n\r\n", lineEnd) ? body : undefined;
    if (text.length < end + 2) return undefined;
    body += text.slice(lineEnd + 2, end);
    at = end + 2;
  }
}

function toBinaryText(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
}

function fromBinaryText(text: string): string {
  return Buffer.from(text, "latin1").toString();
}
