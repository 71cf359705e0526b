import { expect, test } from "bun:test";
import { isLabelValue, toLabelValue } from "./label-value.ts";

test("the value of a label begins and ends with a letter or digit, and has 63 characters at most", () => {
  for (const text of ["eth0", "net1", "a.b-c_d", "A", "a".repeat(63)]) expect([text, isLabelValue(text)]).toEqual([text, true]);
  for (const text of ["", "-a", "a-", "a.", "a/b", "ä", "a b", "a".repeat(64)]) expect([text, isLabelValue(text)]).toEqual([text, false]);
});

test("another text is replaced by its hash, which is such a value", () => {
  expect(toLabelValue("n1.example.org")).toBe("n1.example.org");
  expect(toLabelValue("")).toBe("sha1-da39a3ee5e6b4b0d3255bfef95601890afd80709"); // as `sha1sum` has it of no bytes
  expect(isLabelValue(toLabelValue("a".repeat(64)))).toBe(true);
});
