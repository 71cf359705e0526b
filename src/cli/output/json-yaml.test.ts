import { expect, test } from "bun:test";
import fc from "fast-check";
import { testSeed } from "../../../test/support/seed.ts";
import { parseYaml } from "../documents/yaml.ts";
import { toJsonText, toYamlText } from "./json-yaml.ts";

const seed = testSeed();

test("integers are exact in both forms", () => {
  const value = { total: 2n ** 80n, free: 2n ** 53n + 1n, small: 7 };
  expect(toJsonText(value)).toBe('{\n  "total": 1208925819614629174706176,\n  "free": 9007199254740993,\n  "small": 7\n}\n');
  expect(toYamlText(value)).toBe("total: 1208925819614629174706176\nfree: 9007199254740993\nsmall: 7\n");
});

test("what is read back is what was written, and nothing of it moves the cursor", async () => {
  const text = fc.oneof(
    fc.constantFrom(
      "yes",
      "null",
      "1e3",
      "- a",
      "a: b",
      " x",
      "x ",
      "a\nb",
      "\u001b[2J",
      "\u009b1m",
      "\u202e",
      "\ufffd",
      "__kept_as_it_is_1__",
    ),
    fc.string({ unit: "grapheme" }),
  );
  const value = fc.record({
    text,
    list: fc.array(text),
    object: fc.dictionary(text, fc.oneof(text, fc.integer(), fc.boolean())),
  });
  await fc.assert(
    fc.asyncProperty(value, async (written) => {
      expect(JSON.parse(toJsonText(written))).toEqual(written);
      expect(Bun.YAML.parse(toYamlText(written))).toEqual(written);
      // What `get -o yaml` writes, `apply -f` reads.
      expect(await parseYaml(toYamlText(written))).toEqual([written]);
      for (const shown of [toJsonText(written), toYamlText(written)])
        expect(shown).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
    }),
    { seed, numRuns: 500 },
  );
});

/** @see https://yaml.org/type/value.html, int.html, float.html, timestamp.html; a float has one point, as its readers have it */
const YAML_1_1 = [
  /^=$/,
  /^[-+]?0b[0-1_]{1,9}$/,
  /^[-+]?0[0-7_]{1,9}$/,
  /^[-+]?(0|[1-9][0-9_]{0,9})$/,
  /^[-+]?0x[0-9a-fA-F_]{1,9}$/,
  /^[-+]?[1-9][0-9_]{0,3}(:[0-5]?[0-9]){1,5}$/,
  /^[-+]?([0-9][0-9_]{0,9})\.[0-9_]{0,9}([eE][-+][0-9]{1,3})?$/,
  /^[-+]?[0-9][0-9_]{0,3}(:[0-5]?[0-9]){1,3}\.[0-9_]{0,9}$/,
  /^[-+]?\.(inf|Inf|INF)$/,
  /^\.(nan|NaN|NAN)$/,
  /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/,
  /^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}[Tt ][0-9]{1,2}:[0-9]{2}:[0-9]{2}(\.[0-9]{0,3})?(Z|[-+][0-9]{2}:[0-9]{2})?$/,
] as const;

test("texts that older readers of YAML take for numbers or times stand in quotes, addresses do not", () => {
  const texts = fc.oneof(...YAML_1_1.map((form) => fc.stringMatching(form)), fc.constant("12:34:56:10:20:30"));
  fc.assert(
    fc.property(texts, (text) => {
      expect(toYamlText({ text })).toBe(`text: "${text}"\n`);
    }),
    { seed, numRuns: 2_000 },
  );
  expect(toYamlText(["10.65.0.7", "10.65.0.0/26", "fd00:65::7", "ee:ee:ee:ee:ee:ee", "v3.31.0", "a_b"])).not.toContain('"');
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
