import { expect, test } from "bun:test";
import fc from "fast-check";
import { parse } from "yaml";
import { testSeed } from "../../../test/support/seed.ts";
import { toJsonText, toYamlText } from "./data.ts";

const seed = testSeed();

test("integers are exact in both forms", () => {
  const value = { total: 2n ** 80n, free: 2n ** 53n + 1n, small: 7 };
  expect(toJsonText(value)).toBe('{\n  "total": 1208925819614629174706176,\n  "free": 9007199254740993,\n  "small": 7\n}\n');
  expect(toYamlText(value)).toBe("total: 1208925819614629174706176\nfree: 9007199254740993\nsmall: 7\n");
});

test("what is read back is what was written, and nothing of it moves the cursor", () => {
  const text = fc.oneof(
    fc.constantFrom("yes", "null", "1e3", "- a", "a: b", " x", "x ", "a\nb", "\u001b[2J", "\u009b1m", "\u202e", "__kept_as_it_is_1__"),
    fc.string({ unit: "grapheme" }),
  );
  const value = fc.record({
    text,
    list: fc.array(text),
    object: fc.dictionary(text, fc.oneof(text, fc.integer(), fc.boolean())),
  });
  fc.assert(
    fc.property(value, (written) => {
      expect(JSON.parse(toJsonText(written))).toEqual(written);
      expect(Bun.YAML.parse(toYamlText(written))).toEqual(written);
      for (const shown of [toJsonText(written), toYamlText(written)])
        expect(shown).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
    }),
    { seed, numRuns: 500 },
  );
});

test("older readers of YAML take texts for texts, too", () => {
  const numbers = fc.stringMatching(/^[-+]?[0-9_.:eob xa-f-]{1,20}$/);
  const times = fc.date({ noInvalidDate: true }).map((date) => date.toISOString());
  const known = fc.constantFrom(
    "2026-11-22T08:11:14Z",
    "2026-1-2",
    "12:34:56:10:20:30",
    "1:30",
    "190:20:30.15",
    "1_000",
    "0b11",
    "yes",
    "012",
    "1.5_0",
  );
  fc.assert(
    fc.property(fc.oneof(known, times, numbers), (text) => {
      expect(parse(toYamlText({ text }), { version: "1.1" })).toEqual({ text });
      expect(Bun.YAML.parse(toYamlText({ text }))).toEqual({ text });
    }),
    { seed, numRuns: 2_000 },
  );
});

test("white space that is not ASCII stays at both ends of a text", () => {
  const spaces = [..."\u00a0\u1680\u2000\u2001\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"];
  for (const space of spaces) {
    for (const written of [{ last: space }, { last: `x${space}` }, { first: `${space}x`, last: [`${space}${space}`] }]) {
      expect(JSON.parse(toJsonText(written))).toEqual(written);
      expect(Bun.YAML.parse(toYamlText(written))).toEqual(written);
    }
  }
});
