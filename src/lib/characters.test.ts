import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { testSeed } from "../../test/support/seed.ts";
import { hasControlCharacter, isDnsLabel, isDnsName, isLabelValue, isName, utf8Length } from "./characters.ts";

const seed = testSeed();

const nearAscii = fc.string({
  unit: fc.oneof(
    fc.constantFrom(..."azAZ09._-:/@[`{ \u007f\u0080\u009f\u00a0\n"),
    fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
  ),
  maxLength: 8,
});

describe("agree with the regular expressions that they stand for", () => {
  test("single characters, all of them", () => {
    const chars = Array.from({ length: 0x10000 }, (_, code) => String.fromCharCode(code));
    expect(chars.filter((char) => isName(char, ""))).toEqual(chars.filter((char) => /[a-zA-Z0-9]/.test(char)));
    expect(chars.filter(isDnsLabel)).toEqual(chars.filter((char) => /[a-z0-9]/.test(char)));
    expect(chars.filter(hasControlCharacter)).toEqual(chars.filter((char) => /\p{Cc}/u.test(char)));
  });

  test("names and labels", () => {
    fc.assert(
      fc.property(nearAscii, (text) => {
        expect(isName(text, "_.-")).toBe(/^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/.test(text) && !text.endsWith("\n"));
        expect(isDnsLabel(text)).toBe(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(text));
        expect(isDnsName(text)).toBe(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/.test(text));
        expect(isLabelValue(text)).toBe(/^[a-zA-Z0-9]([a-zA-Z0-9_.-]*[a-zA-Z0-9])?$/.test(text));
        expect(hasControlCharacter(text)).toBe(/\p{Cc}/u.test(text));
      }),
      { seed, numRuns: 5_000 },
    );
  });

  test("utf8Length() agrees with the encoder on every character, lone halves too", () => {
    const encoder = new TextEncoder();
    const codes = Array.from({ length: 0x11000 }, (_, code) => (code < 0x10000 ? code : 0x10000 + (code - 0x10000) * 0x100));
    const texts = codes.map((code) => String.fromCodePoint(code)).flatMap((char) => [char, `${char}a`]);
    expect(texts.filter((text) => utf8Length(text) !== encoder.encode(text).length)).toEqual([]);
  });

  test("utf8Length() agrees with the encoder on any text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => expect(utf8Length(text)).toBe(new TextEncoder().encode(text).length)),
      { seed },
    );
  });
});

test.each([
  ["a DNS label", 63, isDnsLabel],
  ["a DNS name", 253, isDnsName],
  ["the value of a label", 63, isLabelValue],
])("%s has at most %d characters", (_what, most, is) => {
  expect(is("a".repeat(most))).toBe(true);
  expect(is("a".repeat(most + 1))).toBe(false);
});
