import { expect, test } from "bun:test";
import { UsageError } from "../failures/failure.ts";
import { parseBoolean, parseCount, parsePowerOfTwo } from "./flags.ts";

test.each([
  ["true", true],
  ["TRUE", true],
  ["True", true],
  ["false", false],
  ["FALSE", false],
])("%j is %p", (text, value) => expect(parseBoolean(text)).toBe(value));

test.each(["", "yes", "1", "0", "untrue", "trueish", "unfalse", "falsely", "true false"])("%j is neither true nor false", (text) =>
  expect(() => parseBoolean(text)).toThrow(new UsageError(`got ${JSON.stringify(text)}, want true or false`)),
);

test.each([
  ["0", 0],
  ["007", 7],
  ["999999999999999", 999_999_999_999_999],
])("%j is the number %p", (text, value) => expect(parseCount(text)).toBe(value));

test.each(["", "-1", "+1", " 1", "1 ", "1.5", "1e3", "0x1", "many"])("%j is no whole number", (text) =>
  expect(() => parseCount(text)).toThrow(new UsageError(`got ${JSON.stringify(text)}, want a whole number without sign`)),
);

test.each(["9999999999999999", "0000000000000001"])("%j has more digits than a count", (text) =>
  expect(() => parseCount(text)).toThrow(new UsageError(`got ${JSON.stringify(text)}, want at most 15 digits`)),
);

test.each([
  ["2", 2],
  ["64", 64],
  [`${2 ** 49}`, 2 ** 49],
])("%j is the power of two %p", (text, value) => expect(parsePowerOfTwo(text)).toBe(value));

test.each(["0", "1", "3", "12", "63", `${2 ** 49 + 1}`])("%j is no power of two that makes several of one", (text) =>
  expect(() => parsePowerOfTwo(text)).toThrow(new UsageError(`got ${JSON.stringify(text)}, want a power of two: 2, 4, 8, …`)),
);
