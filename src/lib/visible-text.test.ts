import { expect, test } from "bun:test";
import { toVisibleLines, toVisibleText } from "./visible-text.ts";

test.each([
  ["plain, Zürich, 東京, 🚀", "plain, Zürich, 東京, 🚀"],
  ["\u001b[2J", "\\u{1b}[2J"],
  ["\u009b1m", "\\u{9b}1m"],
  ["\u202eabc", "\\u{202e}abc"],
  ["a\u2028b\u2029", "a\\u{2028}b\\u{2029}"],
  ["a\r\nb\tc", "a\\u{d}\\u{a}b\\u{9}c"],
  ["\ud800", "\ufffd"],
])("what moves a cursor, hides or turns text can be seen: %j", (text, visible) => {
  expect(toVisibleText(text)).toBe(visible);
});

test("of text of several lines the line breaks stay, and no other control characters", () => {
  expect(toVisibleLines("a\u0007\nb\r\n\nc")).toBe("a\\u{7}\nb\\u{d}\n\nc");
});
