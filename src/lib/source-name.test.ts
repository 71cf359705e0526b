import { expect, test } from "bun:test";
import { toSourceName, toSourceText } from "./source-name.ts";

test.each([
  ["-", "stdin", "stdin"],
  ["a b", "a b", '"a b"'],
  ["./-", "./-", '"./-"'],
])("%j is called %s, within a sentence %s", (source, name, text) => {
  expect([toSourceName(source), toSourceText(source)]).toEqual([name, text]);
});
