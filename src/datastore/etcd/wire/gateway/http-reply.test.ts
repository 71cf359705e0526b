import { expect, test } from "bun:test";
import fc from "fast-check";
import { testSeed } from "../../../../../test/support/seed.ts";
import { HttpReplyReader } from "./http-reply.ts";

interface Sample {
  readonly body: string;
  readonly status: number;
  readonly chunkSize: number | null;
  readonly cuts: readonly number[];
}

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Hands over a reply in pieces of the given sizes. */
function readInPieces(reply: Uint8Array, sizes: readonly number[], ends = false): ReturnType<HttpReplyReader["push"]> {
  const reader = new HttpReplyReader();
  let at = 0;
  for (const size of [...sizes, reply.length]) {
    const piece = reply.subarray(at, at + size);
    at += piece.length;
    if (piece.length === 0) continue;
    const result = reader.push(piece);
    if (result !== undefined) return result;
  }
  return ends ? reader.push(new Uint8Array()) : undefined;
}

test("replies are read as fetch reads them, however they are cut", async () => {
  const replies = fc.record({
    body: fc.string({ unit: "grapheme", maxLength: 5000 }),
    status: fc.integer({ min: 200, max: 599 }).filter((status) => ![204, 205, 304].includes(status)),
    chunkSize: fc.option(fc.integer({ min: 1, max: 2000 })),
    cuts: fc.array(fc.integer({ min: 1, max: 700 }), { maxLength: 20 }),
  });
  const check = async ({ body, status, chunkSize, cuts }: Sample): Promise<void> => {
    const reply = toReply(status, body, chunkSize);
    expect(readInPieces(reply, cuts)).toEqual({ ...(await askWithFetch(reply)), isKept: true });
  };
  await fc.assert(fc.asyncProperty(replies, check), { numRuns: 60, seed: testSeed() });
});

/** With a length, or in chunks that end anywhere, inside characters too. */
function toReply(status: number, body: string, chunkSize: number | null): Uint8Array {
  const bytes = bytesOf(body);
  const head = `HTTP/1.1 ${status} Whatever\r\nContent-Type: application/json\r\n`;
  if (chunkSize === null) return Buffer.concat([bytesOf(`${head}Content-Length: ${bytes.length}\r\n\r\n`), bytes]);
  const parts = [bytesOf(`${head}Transfer-Encoding: chunked\r\n\r\n`)];
  for (let at = 0; at < bytes.length; at += chunkSize) {
    const piece = bytes.subarray(at, at + chunkSize);
    parts.push(bytesOf(`${piece.length.toString(16)}\r\n`), piece, bytesOf("\r\n"));
  }
  return Buffer.concat([...parts, bytesOf("0\r\n\r\n")]);
}

async function askWithFetch(reply: Uint8Array): Promise<{ readonly status: number; readonly body: string }> {
  const server = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: (socket) => void socket.end(reply) } });
  try {
    const response = await fetch(`http://127.0.0.1:${server.port}/`);
    return { status: response.status, body: await response.text() };
  } finally {
    server.stop(true);
  }
}

test.each([204, 304])("a reply of status %i ends with its head", (status) => {
  const reply = bytesOf(`HTTP/1.1 ${status} Whatever\r\n\r\n`);
  expect(readInPieces(reply, [])).toEqual({ status, body: "", isKept: true });
});

test("an interim response (100 Continue) is skipped", () => {
  const text = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
  expect(readInPieces(bytesOf(text), [30])).toEqual({ status: 200, body: "ok", isKept: true });
});

test("chunk extensions are ignored", () => {
  const text = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nA ; a="b"\r\n0123456789\r\n0;last\r\n\r\n';
  expect(readInPieces(bytesOf(text), [60, 9])).toEqual({ status: 200, body: "0123456789", isKept: true });
});

test.each([
  ["HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"],
  ["HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok"],
  ["HTTP/1.1 200 OK\r\n\r\nok"],
])("a connection that the server ends is not used again: %j", (text) => {
  expect(readInPieces(bytesOf(text), [10], true)).toEqual({ status: 200, body: "ok", isKept: false });
});

test.each([
  ["HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"],
  ["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"],
  ["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\na: b\r\n\r\n"],
])("a connection on which more comes than was asked for is not used again: %j", (text) => {
  expect(readInPieces(bytesOf(text), [])).toEqual({ status: 200, body: "ok", isKept: true });
  expect(readInPieces(bytesOf(`${text}HTTP/1.1 408 Request Timeout\r\n\r\n`), [])).toEqual({ status: 200, body: "ok", isKept: false });
});

test.each([
  ["", "ended before it"],
  ["HTTP/1.1 200 OK\r\nContent-Le", "ended before it"],
  ["HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nok", "ended inside its body"],
  ["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nok", "ended inside its body"],
  ["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n", "ended inside its body"],
])("a reply that was cut off is an error: %j", (text, reason) => {
  expect(() => readInPieces(bytesOf(text), [], true)).toThrow(reason);
});

test.each([
  ["SSH-2.0-OpenSSH_9.2\r\n\r\n", "want HTTP/1.1"],
  ["HTTP/1.1 0 no\r\n\r\n", "want HTTP/1.1"],
  ["HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n", "content-length"],
  ["HTTP/1.1 2e2 OK\r\nContent-Length: 0\r\n\r\n", "want HTTP/1.1"],
  ["HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nabcdefgh", "content-length"],
  ["HTTP/1.1 200 OK\r\nContent-Length: 0x2\r\n\r\nok", "content-length"],
  ["HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nok", "content-length"],
  ["HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc", "two lengths"],
  ["HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", "transfer-encoding"],
  ["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "size of a chunk"],
  // Read as a number, it leads back to where it stands, for ever.
  ["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-10\r\nabc", "size of a chunk"],
  ["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n", "size of a chunk"],
  ["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nokay\r\n0\r\n\r\n", "longer than it says"],
  ["x".repeat(70_000), "longer than"],
  ["HTTP/1.1 200 OK\r\nContent-Length: 268435457\r\n\r\n", "body is longer than"],
  [`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${"0".repeat(70_000)}`, "line between chunks is longer than"],
  [`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;${"x".repeat(70_000)}\r\nok`, "line between chunks is longer than"],
  [`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n${"x: y\r\n".repeat(12_000)}`, "trailers are longer than"],
])("what is not HTTP is refused: %#", (text, reason) => {
  expect(() => readInPieces(bytesOf(text), [])).toThrow(reason);
});

test.each([
  ["in chunks", "Transfer-Encoding: chunked\r\n\r\n", "10000\r\n", "\r\n"],
  ["until the connection ends", "\r\n", "", ""],
])("a body that comes %s and does not end is refused before it fills the memory", (_, head, before, after) => {
  const reader = new HttpReplyReader();
  reader.push(bytesOf(`HTTP/1.1 200 OK\r\n${head}`));
  const piece = bytesOf(before + "x".repeat(65_536) + after);
  const pushMany = (): void => {
    for (let i = 0; i < 5_000; i++) reader.push(piece);
  };
  expect(pushMany).toThrow("body is longer than 268435456 bytes");
});
