import { expect, test } from "bun:test";
import { toCidrText, tryParseCidr } from "./cidr.ts";

test.each([
  ["10.65.3.9/16", "10.65.3.9/16"],
  ["FD00::7/64", "fd00::7/64"],
  ["0.0.0.0/0", "0.0.0.0/0"],
])("%p is %p, host bits and all", (text, canonical) => {
  const cidr = tryParseCidr(text);
  expect(cidr === undefined ? undefined : toCidrText(cidr)).toBe(canonical);
});

test.each([
  "",
  "10.65.3.9",
  "10.65.3.9/",
  "10.65.3.9/33",
  "fd00::/129",
  "10.65.3.9/016",
  "10.65.3.9/1/2",
  "x/8",
  "10.65.3.9/-1",
  "10.65.3.9/8 ",
])("%p is none", (text) => expect(tryParseCidr(text)).toBeUndefined());
