import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { toSelectorText } from "../../../test/support/selector-text.ts";
import { matches } from "./matches.ts";
import { MAX_SELECTOR_DEPTH, MAX_SELECTOR_LENGTH, parseSelector, tryParseSelector } from "./parse.ts";
import { SelectorError } from "./scanner.ts";
import type { Selector } from "./selector.ts";

const seed = Number(process.env.TEST_SEED ?? Date.now() % 2 ** 31);
console.error(`TEST_SEED=${seed}`);

const canonical = (text: string): string => toSelectorText(parseSelector(text));

describe("parseSelector()", () => {
  test.each([
    ["", "all()"],
    [" \t", "all()"],
    ["all()", "all()"],
    ["all( )", "all()"],
    ["global()", "global()"],
    ["a=='b'", 'a == "b"'],
    [`a == 'say "x"'`, `a == 'say "x"'`],
    [`a == "it's"`, `a == "it's"`],
    ['a in {"y", "x", "y",}', 'a in {"x", "y"}'],
    ["a in {}", "a in {}"],
    ['a notin{"x"}', 'a not in {"x"}'],
    ['a not \t in {"x"}', 'a not in {"x"}'],
    ['a startswith "x"', 'a starts with "x"'],
    ['a ends   with "x"', 'a ends with "x"'],
    ["!!has(a)", "has(a)"],
    ["!!!has(a)", "!has(a)"],
    ["!(!has(a))", "has(a)"],
    ["has(a) || has(b) && has(c)", "(has(a) || (has(b) && has(c)))"],
    ["(has(a) || has(b)) && has(c)", "((has(a) || has(b)) && has(c))"],
    ["!has(a) && has(b)", "(!has(a) && has(b))"],
    ['!a == "x"', '!a == "x"'],
    ['in in {"x"}', 'in in {"x"}'],
    ['has == "x"', 'has == "x"'],
    ['not not in {"x"}', 'not not in {"x"}'],
    ['netplug.io/zone-1_a == "x"', 'netplug.io/zone-1_a == "x"'],
  ])("reads %p as %p", (text, expected) => {
    expect(canonical(text)).toBe(expected);
  });

  test.each([
    ["a = 'b'", 2, 'got "=", want "==", "!="'],
    ["a == b", 5, 'got "b", want a string in quotes'],
    ["a == 'b", 5, "got a string without an end, want a closing '"],
    ["a == 'b' & c == 'd'", 9, 'got "&", want "&&", "||" or the end'],
    ["has (a)", 4, 'got "(", want "=="'],
    ["has(a", 5, 'got the end, want ")"'],
    ["has()", 4, 'got ")", want a label'],
    ["(has(a)", 7, 'got the end, want "&&", "||" or ")"'],
    ["has(a))", 6, 'got ")", want "&&", "||" or the end'],
    ["a in {'x' 'y'}", 10, 'got "\'", want "," or "}"'],
    ["a in {,}", 6, 'got ",", want a string in quotes or "}"'],
    ["a in ('x')", 5, 'got "(", want "{"'],
    ["a inside {'x'}", 2, 'got "inside", want'],
    ["!", 1, "got the end, want a label"],
    ["has(a) &&", 9, "got the end, want a label"],
    ["a == 'x'\n", 8, 'got "\\n", want'],
    ["é == 'x'", 0, 'got "é", want a label'],
  ])("refuses %p at %p: %p", (text, position, message) => {
    expect(() => parseSelector(text)).toThrow(message);
    expect(() => parseSelector(text)).toThrow(expect.objectContaining({ name: "SelectorError", position }));
    expect(tryParseSelector(text)).toMatchObject({ name: "SelectorError", position });
  });

  test("refuses what is too long or too deep, without running out of stack", () => {
    expect(() => parseSelector(" ".repeat(MAX_SELECTOR_LENGTH + 1))).toThrow(SelectorError);
    expect(() => parseSelector(`has(${"a".repeat(513)})`)).toThrow("got a label of 513 characters, want at most 512");
    const nested = (depth: number): string => `${"(".repeat(depth)}has(a)${")".repeat(depth)}`;
    expect(canonical(nested(MAX_SELECTOR_DEPTH))).toBe("has(a)");
    expect(() => parseSelector(nested(MAX_SELECTOR_DEPTH + 1))).toThrow("nested parentheses");
  });

  test("never throws anything but a SelectorError, whatever the text", () => {
    const pieces = fc.constantFrom(
      "a",
      "has(",
      "all()",
      "(",
      ")",
      "!",
      "&&",
      "||",
      "==",
      "!=",
      " in ",
      "{",
      "}",
      ",",
      '"x"',
      "'",
      '"',
      " ",
      "é",
      "\n",
    );
    const count = { taken: 0, refused: 0 };
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.array(pieces, { maxLength: 30 }).map((parts) => parts.join("")),
        ),
        (text) => {
          count[tryParseSelector(text) instanceof SelectorError ? "refused" : "taken"]++;
        },
      ),
      { seed, numRuns: 3_000 },
    );
    expect(Math.min(count.taken, count.refused)).toBeGreaterThan(0);
  });
});

describe("matches()", () => {
  test.each([
    ['a == "x"', false, true, false],
    ['a != "x"', true, false, true],
    ['a in {"x", "y"}', false, true, false],
    ['a not in {"x", "y"}', true, false, true],
    ["a in {}", false, false, false],
    ["a not in {}", true, true, true],
    ['a contains ""', false, true, true],
    ['a starts with "x"', false, true, false],
    ['a ends with "z"', false, false, true],
    ["has(a)", false, true, true],
    ["!has(a)", true, false, false],
    ["all()", true, true, true],
    ["global()", true, true, true],
  ])("%p fits: no labels %p, a=x %p, a=yz %p", (text, absent, x, other) => {
    const selector = parseSelector(text);
    expect([matches(selector, {}), matches(selector, { a: "x" }), matches(selector, { a: "yz" })]).toEqual([absent, x, other]);
  });

  test("does not find what every object inherits", () => {
    expect(matches(parseSelector("has(constructor)"), {})).toBe(false);
    expect(matches(parseSelector('toString != "x"'), {})).toBe(true);
  });

  test("agrees with a translation to JavaScript's own operators", () => {
    fc.assert(
      fc.property(anySelector, anyLabels, (selector, labels) => {
        const program = new Function("labels", `const has = (k) => k in labels; return ${toJavaScript(selector)};`);
        expect(matches(selector, labels)).toBe(program({ __proto__: null, ...labels }));
      }),
      { seed, numRuns: 2_000 },
    );
  });
});

test("canonical text parses back to the same selector", () => {
  fc.assert(
    fc.property(anySelector, (selector) => {
      const text = toSelectorText(selector);
      fc.pre(text.length <= MAX_SELECTOR_LENGTH);
      expect(parseSelector(text)).toEqual(selector);
    }),
    { seed, numRuns: 2_000 },
  );
});

const anyLabel = fc.constantFrom("a", "b", "in", "netplug.io/zone");
const anyValue = fc.constantFrom("", "x", "y", "xy", "it's", 'say "x"', "é");
const anyLabels = fc.dictionary(anyLabel, anyValue);

/** Selectors in the form that parsing gives: no `not` inside a `not`. */
const anySelector: fc.Arbitrary<Selector> = fc.letrec<{ any: Selector; leaf: Selector; plain: Selector }>((tie) => ({
  leaf: fc.oneof(
    fc.constant<Selector>({ type: "all" }),
    fc.record({ type: fc.constant("has" as const), label: anyLabel }),
    fc.record({
      type: fc.constant("compare" as const),
      label: anyLabel,
      operator: fc.constantFrom("==", "!=", "contains", "starts with", "ends with"),
      value: anyValue,
    }),
    fc.record({
      type: fc.constant("member" as const),
      label: anyLabel,
      operator: fc.constantFrom("in", "not in"),
      values: fc.uniqueArray(anyValue).map((values) => values.sort()),
    }),
  ),
  plain: fc.oneof(
    { maxDepth: 3 },
    tie("leaf"),
    fc.record({ type: fc.constantFrom("and" as const, "or" as const), operands: fc.array(tie("any"), { minLength: 2, maxLength: 3 }) }),
  ),
  any: fc.oneof({ maxDepth: 3 }, tie("plain"), fc.record({ type: fc.constant("not" as const), operand: tie("plain") })),
})).any;

function toJavaScript(selector: Selector): string {
  switch (selector.type) {
    case "all":
    case "global":
      return "true";
    case "has":
      return `has(${JSON.stringify(selector.label)})`;
    case "compare": {
      const value = `labels[${JSON.stringify(selector.label)}]`;
      const wanted = JSON.stringify(selector.value);
      if (selector.operator === "==" || selector.operator === "!=") return `(${value} ${selector.operator}= ${wanted})`;
      const method = { contains: "includes", "starts with": "startsWith", "ends with": "endsWith" }[selector.operator];
      return `(${value}?.${method}(${wanted}) ?? false)`;
    }
    case "member":
      return `(${selector.operator === "in" ? "" : "!"}new Set(${JSON.stringify(selector.values)}).has(labels[${JSON.stringify(selector.label)}]))`;
    case "not":
      return `!${toJavaScript(selector.operand)}`;
    case "and":
      return `(${selector.operands.map(toJavaScript).join(" && ")})`;
    case "or":
      return `(${selector.operands.map(toJavaScript).join(" || ")})`;
  }
}

test("a text that is no selector is shown with nothing that a terminal would obey, on one line", () => {
  expect(() => parseSelector('zone == \u001b[2Jx\n\u202e"')).toThrow(
    'parse selector "zone == \\u001b[2Jx\\n\\u{202e}\\"": at character 9 got "\\u001b", want a string in quotes',
  );
});
