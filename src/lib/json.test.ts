import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { isJsonObject, JsonError, parseJson, tryParseJson } from "./json.ts";
import { testSeed } from "../../test/support/seed.ts";

const seed = testSeed();

describe("parseJson()", () => {
  test("reads what the engine reads", () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 10 }), (text) => expect(parseJson(text)).toEqual(JSON.parse(text))),
      { seed },
    );
  });

  test.each([
    ["", "got nothing, want JSON"],
    ["{", "line 1, column 2: want a key in double quotes"],
    ['{"a": 1,}', "line 1, column 9: want a key in double quotes"],
    ['{"a" 1}', 'line 1, column 6: want ":"'],
    ['{\n  "a": [1, 2\n}', 'line 3, column 1: want "," or "]"'],
    ['{"a": tru}', "line 1, column 7: want a value, in double quotes if it is text"],
    ['["a",]', "line 1, column 6: want a value"],
    ['{"a": 01}', "line 1, column 7: want a value, in double quotes if it is text"],
    ["{} {}", "line 1, column 4: want nothing more"],
    ['"a\nb"', "line 1, column 1: want a text that ends and has no raw control character"],
  ])("says where %p stops being JSON", (text, message) => {
    expect(() => parseJson(text)).toThrow(new JsonError(message));
  });

  test("never shows the text, which may hold a secret", () => {
    for (const text of ['{"etcd_password": s3cret}', '{"p": "s3cret}', "s3cret"]) {
      expect(() => parseJson(text)).toThrow(/^(?!.*s3cret)/);
    }
  });

  test.each([
    ['{"a":"', "x", '",}', "line 1, column 8000009: want a key in double quotes"],
    ['{"a":"', "\\n", '",}', "line 1, column 16000009: want a key in double quotes"],
    ['{"a":"', "x", "", "line 1, column 6: want a text that ends and has no raw control character"],
    ['{"a":', "1", "x}", "line 1, column 6: want a value, in double quotes if it is text"],
    ['{"a":', " ", "}", "line 1, column 8000006: want a value"],
  ])("says so behind or before eight million characters: %p, then %p, then %p", (begin, part, end, message) => {
    const text = begin + part.repeat(8_000_000) + end;
    expect(() => parseJson(text, { maxLength: 20_000_000 })).toThrow(new JsonError(message));
  });

  test("finds some fault in every text that the engine refuses", () => {
    fc.assert(
      fc.property(fc.json(), fc.nat(), fc.constantFrom("", ",", "}", "]", '"', "\\", "x", "\u0001", "-"), (json, place, junk) => {
        const at = place % (json.length + 1);
        const text = json.slice(0, at) + junk + json.slice(at + 1);
        let isJson = true;
        try {
          JSON.parse(text);
        } catch {
          isJson = false;
        }
        if (isJson) expect(parseJson(text)).toEqual(JSON.parse(text));
        else expect(() => parseJson(text)).toThrow(/^(got nothing|line \d+, column \d+: want (?!JSON$))/);
      }),
      { seed, numRuns: 2_000 },
    );
  });

  test("refuses too much text and too deep nesting, however it is made", () => {
    expect(() => parseJson(" ".repeat(10_000_000))).toThrow("got 10000000 characters, want at most 1048576");
    expect(() => parseJson("[".repeat(1_000_000))).toThrow("got more than 64 levels of nesting");
    expect(() => parseJson('{"a":'.repeat(65) + "1" + "}".repeat(65))).toThrow("got more than 64 levels of nesting");
    expect(() => parseJson("[".repeat(65) + "]".repeat(65))).toThrow("got more than 64 levels of nesting");
  });

  test("accepts many objects beside each other, brackets in text, and exactly the allowed depth", () => {
    expect(parseJson("[" + Array(500).fill("[]").join(",") + "]")).toHaveLength(500);
    expect(parseJson(JSON.stringify("[".repeat(100) + '"\\'))).toBe("[".repeat(100) + '"\\');
    expect(Array.isArray(parseJson("[".repeat(64) + "]".repeat(64)))).toBe(true);
  });
});

test("isJsonObject() is false for lists and null", () => {
  expect([{}, [], null, 1, "x"].map(isJsonObject)).toEqual([true, false, false, false, false]);
});

test("tryParseJson() gives undefined for no text, and for text that is no JSON", () => {
  expect([tryParseJson('{"a":[1]}'), tryParseJson("null"), tryParseJson("{"), tryParseJson(""), tryParseJson(undefined)]).toEqual([
    { a: [1] },
    null,
    undefined,
    undefined,
    undefined,
  ]);
});
