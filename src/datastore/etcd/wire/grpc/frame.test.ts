import { expect, test } from "bun:test";
import fc from "fast-check";
import { testSeed } from "../../../../../test/support/seed.ts";
import { FrameReader, toFrame } from "./frame.ts";

/** Hands over bytes in pieces of the given sizes, in turn. */
function readInPieces(bytes: Uint8Array, sizes: readonly number[]): readonly Uint8Array[] {
  const reader = new FrameReader();
  const messages: Uint8Array[] = [];
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length] ?? bytes.length;
    messages.push(...reader.push(bytes.subarray(at, at + size)));
    at += size;
  }
  return messages;
}

test("messages come out as they went in, however their frames are cut", () => {
  const messages = fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 8 });
  const sizes = fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 8 });
  const check = (sent: readonly Uint8Array[], cuts: readonly number[]): void => {
    expect(readInPieces(Buffer.concat(sent.map(toFrame)), cuts)).toEqual([...sent]);
  };
  fc.assert(fc.property(messages, sizes, check), { seed: testSeed() });
});

test("a long message costs time in proportion to its length", () => {
  const frame = toFrame(new Uint8Array(24 * 1024 * 1024).fill(7));
  const begun = performance.now();
  expect(readInPieces(frame, [4 * 1024])[0]?.length).toBe(24 * 1024 * 1024);
  // Copied with each of its pieces, it would take ten seconds.
  expect(performance.now() - begun).toBeLessThan(2_000);
});

test.each([
  ["compressed, or not gRPC", [1, 0, 0, 0, 1, 0]],
  ["longer than 268435456 bytes", [0, 16, 0, 0, 1, 0]],
])("a frame is refused that is %s", (reason, bytes) => {
  const refused = expect(() => new FrameReader().push(new Uint8Array(bytes)));
  refused.toThrow(expect.objectContaining({ reason: "lost", message: expect.stringContaining(reason) }));
});
