import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { toLinkAddress } from "./link-address.ts";
import {
  beginNested,
  decodeMessages,
  encodeMessages,
  endNested,
  NetlinkDecodeError,
  pushBytes,
  pushNumber,
  pushText,
  readBytes,
  readNumber,
  readText,
  visitAttributes,
  type Words,
} from "./codec.ts";
import { createVeth, toLink } from "./link.ts";
import { toNeighbour } from "./neighbour.ts";
import { toRoute, toRoutes } from "./route.ts";
import { tryParseMac } from "../../lib/mac-address.ts";

const seed = Number(process.env["TEST_SEED"] ?? Date.now() % 2 ** 31);
console.error(`TEST_SEED=${seed}`);

const toBytes = (words: readonly number[]): Uint8Array => new Uint8Array(new Int32Array(words).buffer);

/** What a decoder may do with bytes that nobody checked. */
function verdict(decode: () => unknown): "decoded" | "refused" {
  try {
    decode();
    return "decoded";
  } catch (thrown) {
    if (!(thrown instanceof NetlinkDecodeError) && !(thrown instanceof RangeError)) throw thrown;
    return "refused";
  }
}

describe("attributes", () => {
  const anyAttributes = fc.array(fc.tuple(fc.integer({ min: 1, max: 0x3fff }), fc.uint8Array({ maxLength: 300 })), { maxLength: 20 });

  test("come back as they were written", () => {
    fc.assert(
      fc.property(anyAttributes, (attributes) => {
        const words: Words = [];
        for (const [type, bytes] of attributes) pushBytes(words, type, bytes);
        const read: [number, Uint8Array][] = [];
        visitAttributes(toBytes(words), 0, (type, value) => read.push([type, Uint8Array.from(readBytes(value))]));
        expect(read).toEqual(attributes.map(([type, bytes]) => [type, Uint8Array.from(bytes)]));
      }),
      { seed, numRuns: 500 },
    );
  });

  test("are laid out as the kernel's header files say", () => {
    const words: Words = [];
    const nest = beginNested(words, 18);
    pushText(words, 1, "veth");
    pushNumber(words, 4, 1440);
    endNested(words, nest);
    // length u16, type u16 with the "nested" bit, then the inner ones, each padded to 4.
    expect(Buffer.from(toBytes(words)).toString("hex").match(/.{8}/g)).toEqual([
      "18001280",
      "09000100",
      "76657468",
      "00000000",
      "08000400",
      "a0050000",
    ]);
  });

  test("of wrong sizes are refused", () => {
    const words: Words = [];
    pushBytes(words, 4, new Uint8Array([1, 2, 3]));
    expect(() => visitAttributes(toBytes(words), 0, (_, value) => readNumber(value))).toThrow("decode number: got 3 bytes, want 4");
  });

  test("text ends at its NUL, and is never more than its attribute", () => {
    const words: Words = [];
    pushBytes(words, 3, Buffer.from("eth0\0rest"));
    pushBytes(words, 3, Buffer.from("abc"));
    const texts: string[] = [];
    visitAttributes(toBytes(words), 0, (_, value) => texts.push(readText(value)));
    expect(texts).toEqual(["eth0", "abc"]);
  });
});

describe("messages", () => {
  test("come back as they were written", () => {
    const anyWord = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
    const u16 = fc.integer({ min: 0, max: 0xffff });
    const anyMessage = fc.record({
      type: u16,
      flags: u16,
      sequence: fc.integer({ min: 0, max: 2 ** 31 - 1 }),
      payload: fc.array(anyWord, { maxLength: 50 }),
    });
    fc.assert(
      fc.property(fc.array(anyMessage, { maxLength: 10 }), (messages) => {
        const datagram = new Uint8Array(encodeMessages(messages).buffer);
        expect(decodeMessages(datagram)).toEqual(messages.map((message) => ({ ...message, payload: toBytes(message.payload) })));
      }),
      { seed, numRuns: 500 },
    );
  });

  test.each([
    ["is shorter than a header", "0f000000"],
    ["claims less than a header", "0f000000000000000000000000000000"],
    ["claims more than there is", "11000000000000000000000000000000"],
  ])("a datagram that %s is refused", (_, hex) => {
    expect(() => decodeMessages(Buffer.from(hex, "hex"))).toThrow(NetlinkDecodeError);
  });
});

describe("any bytes", () => {
  const decoders = { toLink, toLinkAddress, toRoute, toRoutes, toNeighbour };

  test.each(Object.entries(decoders))("make %s() answer or refuse, never hang or read elsewhere", (_, decode) => {
    const count = { decoded: 0, refused: 0 };
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (payload) => {
        count[verdict(() => decode({ type: 0, flags: 0, sequence: 0, payload }))]++;
      }),
      { seed, numRuns: 2_000 },
    );
    expect(count.refused).toBeGreaterThan(0);
  });

  test("in a message of the right shape do so too", () => {
    const mac = tryParseMac("02:00:00:00:00:01");
    if (mac === undefined) throw new Error("the test's own MAC");
    const { payload } = createVeth({ name: "npg0", mtu: 1500, mac, queues: 1, peerName: "eth0", peerMac: mac, peerNetns: 3 });
    const good = toBytes(payload);
    const anyDamage = fc.array(fc.tuple(fc.nat(good.length - 1), fc.integer({ min: 0, max: 255 })), { minLength: 1, maxLength: 4 });
    const count = { decoded: 0, refused: 0 };
    fc.assert(
      fc.property(anyDamage, fc.nat(good.length), (damage, length) => {
        const bad = good.slice(0, length);
        for (const [at, byte] of damage) bad[at % Math.max(1, length)] = byte;
        count[verdict(() => toLink({ type: 16, flags: 0, sequence: 1, payload: bad }))]++;
        verdict(() => decodeMessages(bad));
      }),
      { seed, numRuns: 3_000 },
    );
    expect(Math.min(count.decoded, count.refused)).toBeGreaterThan(0);
  });
});
