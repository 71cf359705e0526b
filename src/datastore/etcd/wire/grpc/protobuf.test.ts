import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { testSeed } from "../../../../../test/support/seed.ts";
import { FrameReader, toFrame } from "./frame.ts";
import { MessageReader, MessageWriter, ProtobufError } from "./protobuf.ts";

const seed = testSeed();

describe("MessageWriter", () => {
  test.each([
    ["a number", (writer: MessageWriter) => writer.number(1, 150), "089601"],
    ["a text", (writer: MessageWriter) => writer.text(2, "testing"), "120774657374696e67"],
    ["a message inside", (writer: MessageWriter) => writer.message(3, (inner) => inner.number(1, 150)), "1a03089601"],
    ["an empty message", (writer: MessageWriter) => writer.message(3, () => undefined), "1a00"],
    ["the largest 64-bit number", (writer: MessageWriter) => writer.number(1, 2n ** 63n - 1n), "08ffffffffffffffff7f"],
    ["a zero, which is left out", (writer: MessageWriter) => writer.number(1, 0).number(2, 0n).text(3, ""), ""],
  ])("writes %s as the format's own documentation does", (_, write, hex) => {
    expect(write(new MessageWriter()).finish().toHex()).toBe(hex);
  });

  test.each([
    [127, "087f"],
    [128, "088001"],
    [16_384, "08808001"],
  ])("writes %i as varint, be it a bigint or not", (value, hex) => {
    expect(
      [new MessageWriter().number(1, value), new MessageWriter().number(1, BigInt(value))].map((writer) => writer.finish().toHex()),
    ).toEqual([hex, hex]);
  });

  test("writes bytes that are no text, and nothing else as bytes", () => {
    const every = String.fromCharCode(...Array.from({ length: 256 }, (_, i) => i));
    expect(new MessageWriter().bytes(1, "").bytes(2, every.slice(254)).finish().toHex()).toBe("1202feff");
    expect(new MessageReader(new MessageWriter().bytes(1, every).finish()).bytes(1)).toBe(every);
    expect(() => new MessageWriter().bytes(1, "a\u0100")).toThrow(
      new ProtobufError("write bytes: got the character 256, want 255 at most"),
    );
  });

  test("grows with what is written, and keeps what was written before", () => {
    for (const lengths of [[300], [250, 250], [100, 2_000], [252, 1], Array.from({ length: 300 }, () => 1), [240, 30, 90_000]]) {
      const writer = new MessageWriter();
      for (const [index, length] of lengths.entries()) writer.text(index + 1, "x".repeat(length)).number(1_000, 300);
      const reader = new MessageReader(writer.finish());
      expect(lengths.map((_, index) => reader.text(index + 1).length)).toEqual(lengths);
      expect(reader.number(1_000)).toBe(300n);
    }
    // Whatever is left in front of a number that needs more.
    for (let before = 1; before <= 11; before++) {
      const writer = new MessageWriter().text(1, "x".repeat(before));
      for (let i = 0; i < 30; i++) writer.number(1_000, 2n ** 62n);
      expect(
        writer
          .finish()
          .subarray(2 + before)
          .toHex(),
      ).toBe("c03e808080808080808040".repeat(30));
    }
  });
});

describe("MessageReader", () => {
  test("reads back whatever was written", () => {
    const entry = fc.record({
      field: fc.integer({ min: 1, max: 1_000 }),
      value: fc.oneof(fc.bigInt({ min: 1n, max: 2n ** 63n - 1n }), fc.string({ minLength: 1, unit: "grapheme", maxLength: 600 })),
    });
    const property = fc.property(fc.uniqueArray(entry, { selector: ({ field }) => field, maxLength: 8 }), (entries) => {
      const writer = new MessageWriter();
      writer.message(7, (inner) => {
        for (const { field, value } of entries) {
          if (typeof value === "bigint") inner.number(field, value);
          else inner.text(field, value);
        }
      });
      const inner = new MessageReader(writer.finish()).message(7);
      for (const { field, value } of entries) expect(typeof value === "bigint" ? inner.number(field) : inner.text(field)).toBe(value);
    });
    fc.assert(property, { seed });
  });

  test("fails on what is no message in one way only", () => {
    const property = fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      try {
        expect(new MessageReader(bytes).number(1)).toBeGreaterThanOrEqual(0n);
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(ProtobufError);
      }
    });
    fc.assert(property, { seed });
  });

  test.each([
    ["0a05ff", "read field 1: got 1 of 5 bytes"],
    ["09ffffffffffffff", "read field 1: got 7 of 8 bytes"],
    ["0dffffff", "read field 1: got 3 of 4 bytes"],
    ["08", "read varint: the message ends"],
    ["08ff", "read varint: the message ends"],
    ["08ffffffffffffffffffff01", "read varint: got more than 10 bytes"],
    ["0b", "read field 1: got wire type 3"],
    ["1c", "read field 3: got wire type 4"],
    ["0e00000000", "read field 1: got wire type 6"],
    ["0f00000000", "read field 1: got wire type 7"],
  ])("says why %s is no message", (hex, reason) => {
    expect(() => new MessageReader(Uint8Array.fromHex(hex))).toThrow(new ProtobufError(reason));
  });

  test("passes over what has a fixed width", () => {
    expect(new MessageReader(Uint8Array.fromHex("090102030405060708100d0dffffffff1a0161")).number(2)).toBe(13n);
    expect(new MessageReader(Uint8Array.fromHex("0dffffffff1a0161")).text(3)).toBe("a");
  });

  test("gives all of what repeats, the last of what should not, and nothing of what is absent or of another form", () => {
    const writer = new MessageWriter()
      .text(1, "a")
      .text(1, "b")
      .number(2, 5)
      .message(3, (inner) => inner.number(1, 7));
    const reader = new MessageReader(writer.message(3, (inner) => inner.number(1, 8)).finish());
    expect([reader.texts(1), reader.text(1), reader.bytes(1)]).toEqual([["a", "b"], "b", "b"]);
    expect(reader.messages(3).map((inner) => inner.number(1))).toEqual([7n, 8n]);
    expect(reader.message(3).number(1)).toBe(8n);
    expect([reader.texts(2), reader.text(2), reader.bytes(2), reader.messages(2)]).toEqual([[], "", "", []]);
    expect([reader.number(1), reader.isSet(1), reader.isSet(2), reader.isSet(9)]).toEqual([0n, false, true, false]);
    expect([reader.message(9).number(1), reader.text(9), reader.bytes(9)]).toEqual([0n, "", ""]);
  });
});

describe("FrameReader", () => {
  test("cuts the same messages out of a stream, however it is cut", () => {
    const anyMessages = fc.array(fc.uint8Array({ maxLength: 30 }), { maxLength: 6 });
    const property = fc.property(anyMessages, fc.integer({ min: 1, max: 9 }), (messages, size) => {
      const stream = Buffer.concat(messages.map(toFrame));
      const reader = new FrameReader();
      const read: Uint8Array[] = [];
      for (let at = 0; at < stream.length; at += size) read.push(...reader.push(stream.subarray(at, at + size)));
      expect(read.map((message) => message.toHex())).toEqual(messages.map((message) => message.toHex()));
    });
    fc.assert(property, { seed });
  });

  test("refuses a compressed message", () => {
    expect(() => new FrameReader().push(Uint8Array.of(1, 0, 0, 0, 0))).toThrow("compressed, or not gRPC");
  });
});
