import { expect, test } from "bun:test";
import { toChoice } from "./choice.ts";

test.each([
  [[], ""],
  [["a"], "a"],
  [["a", "b"], "a or b"],
  [["a", "b", "c"], "a, b or c"],
])("a choice of %j is %j", (words, text) => expect(toChoice(words)).toBe(text));
