import { expect, test } from "bun:test";
import fc from "fast-check";
import { quote, quoteValue } from "./quote.ts";
import { testSeed } from "../../test/support/seed.ts";

test.each([
  ["blue", '"blue"'],
  ['say "hi"\\', '"say \\"hi\\"\\\\"'],
  ['["10.65.0.7", "Zürich"]', `'["10.65.0.7", "Zürich"]'`],
  [`it's "a"`, `"it's \\"a\\""`],
  ['"\n', '"\\"\\n"'],
  ['"\u202E', '"\\"\\u{202e}"'],
  ["a\nb\u001b[2Jc", '"a\\nb\\u001b[2Jc"'],
  ["\u202Egnp.exe", '"\\u{202e}gnp.exe"'],
  ["Zürich ✓", '"Zürich ✓"'],
  ["a\u2028b\u007f", '"a\\u{2028}b\\u{7f}"'],
])("shows %p as %p", (text, shown) => expect(quote(text)).toBe(shown));

test("cuts after 200 characters and says how long it was", () => {
  expect(quote("x".repeat(200))).toBe(`"${"x".repeat(200)}"`);
  expect(quote("x".repeat(201))).toBe(`"${"x".repeat(200)}…" (201 characters)`);
  expect(quote("\u0000".repeat(10_000_000)).length).toBeLessThan(1_300);
});

test("two texts are never shown the same, and one between single quotes is what stands there", () => {
  const letters = fc.string({ unit: fc.constantFrom('"', "'", "\\", "n", "\n", "u", "{", "}", "a", "é") });
  fc.assert(
    fc.property(letters, (text) => {
      const shown = quote(text);
      const inside = shown.slice(1, -1);
      expect(shown.startsWith("'") ? inside : JSON.parse(shown)).toBe(text);
      if (shown.startsWith("'")) expect(inside).not.toMatch(/['\\]/);
    }),
    { seed: testSeed(), numRuns: 2_000 },
  );
});

test("is always one line without hidden characters", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => expect(quote(text)).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u)),
    { seed: testSeed(), numRuns: 2_000 },
  );
});

test("a value that is no text is shown by its kind", () => {
  expect([true, 1.5, null, [], [1], { secret: 1 }, undefined].map(quoteValue)).toEqual([
    "true",
    "1.5",
    "null",
    "an empty list",
    "a list",
    "an object",
    "nothing",
  ]);
});
