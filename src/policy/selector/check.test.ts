import { expect, test } from "bun:test";
import { checkSelector } from "./check.ts";

test("a selector that parses is right", () => {
  expect(checkSelector('a == "b"', "plain")).toBeUndefined();
  expect(checkSelector("", "plain")).toBeUndefined();
});

test("a selector that does not parse is told with its place", () => {
  expect(checkSelector("a = 'b'", "plain")).toContain("at character 3");
});

test("global() may stand alone in a rule's namespace selector and nowhere else", () => {
  expect(checkSelector("global()", "namespace-of-rule")).toBeUndefined();
  expect(checkSelector("global()", "plain")).toContain("namespaceSelector of a rule only");
  expect(checkSelector("global() || has(a)", "namespace-of-rule")).toContain("want it alone");
});

test("global() is found at any depth, but not in names and texts", () => {
  expect(checkSelector("has(a) || !(has(b) && global())", "plain")).toContain("namespaceSelector of a rule only");
  expect(checkSelector('has(global) && a == "global()"', "plain")).toBeUndefined();
});
