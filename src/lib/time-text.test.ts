import { expect, test } from "bun:test";
import { toTimeText } from "./time-text.ts";

test.each([
  [1_700_000_000, "2023-11-14T22:13:20Z"],
  [1_700_000_000.9876, "2023-11-14T22:13:20Z"],
  [0, "1970-01-01T00:00:00Z"],
  [253_402_300_800, "+010000-01-01T00:00:00Z"],
  [1e15, "second 1000000000000000"],
])("second %d is %p", (seconds, text) => {
  expect(toTimeText(seconds)).toBe(text);
});
