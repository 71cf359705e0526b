import { expect, test } from "bun:test";
import { UsageError } from "../failures/failure.ts";
import { matchesLabels, parseLabelSelector } from "./label-selector.ts";

const LABELS = { rack: "r2", tier: "", size: "007", "netplug.io/zone": "a.b_c-d" };

// What kubectl finds and refuses is compared with it in test/cli/label-selector.test.ts.
test.each([
  ["", true],
  [" ", true],
  ["rack", true],
  ["!rack", false],
  ["! gpu", true],
  ["gpu", false],
  ["tier", true],
  ["tier=", true],
  ["tier!=", false],
  ["gpu=", false],
  ["gpu!=", true],
  ["rack=r2", true],
  ["rack == r2", true],
  ["rack!=r2", false],
  ["gpu!=r2", true],
  ["netplug.io/zone=a.b_c-d", true],
  ["rack in (r1, r2)", true],
  ["rack in (r1,r3)", false],
  ["rack notin (r1,r3)", true],
  ["rack notin (r1,r2)", false],
  ["gpu notin (r1,r2)", true],
  ["gpu in (r1,)", false],
  ["tier in (r1,)", true],
  ["size>6", true],
  ["size>7", false],
  ["size<8", true],
  ["size < 7", false],
  ["rack>0", false],
  ["rack<9", false],
  ["gpu<9", false],
  ["toString", false],
  ["rack=r2,tier=,size>1", true],
  ["rack=r2,tier=x,size>1", false],
  ["rack in (r1,r2),!gpu", true],
  ["rack in (r1,r2),gpu", false],
])("the selector %j: %p", (text, fits) => {
  expect(matchesLabels(parseLabelSelector(text), LABELS)).toBe(fits);
});

test("an object without labels has none of them", () => {
  expect(["rack", "!rack", "rack=r2", "rack!=r2", "rack>1"].map((text) => matchesLabels(parseLabelSelector(text), undefined))).toEqual([
    false,
    true,
    false,
    true,
    false,
  ]);
});

test("a value that does not fit a signed 64-bit integer matches no comparison", () => {
  const isMore = (value: string, limit: string): boolean => matchesLabels(parseLabelSelector(`size>${limit}`), { size: value });
  expect(isMore("9223372036854775807", "9223372036854775806")).toBe(true);
  expect(isMore("9223372036854775808", "0")).toBe(false);
});

const FORMS = "want KEY=VALUE, KEY!=VALUE, KEY in (A,B), KEY notin (A,B), KEY, !KEY, KEY>N or KEY<N";

test.each([
  ["rack=r2,", `got nothing beside a comma, ${FORMS}`],
  [",rack=r2", `got nothing beside a comma, ${FORMS}`],
  ["rack in r1", `got "rack in r1", ${FORMS}`],
  ["gpu, rack in (r1", `got "rack in (r1", ${FORMS}`],
  ["rack=r2,a==b==c", `got "a==b==c", ${FORMS}`],
  ["rack=-", 'got "rack=-", '],
  ["rack in (r1,-)", 'got "rack in (r1,-)", '],
  ["a/b/c", 'got "a/b/c", '],
  ["size>x", 'got "size>x", want a whole number from 0 to 9223372036854775807 behind ">"'],
  ["size < 9223372036854775808", 'got "size < 9223372036854775808", want a whole number from 0 to 9223372036854775807 behind "<"'],
])("%j is refused by what is wrong in it, with one that is right", (text, fault) => {
  const parse = (): unknown => parseLabelSelector(text);
  expect(parse).toThrow(UsageError);
  expect(parse).toThrow(fault);
  expect(parse).toThrow("rack=r2");
});
