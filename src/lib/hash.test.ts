import { expect, test } from "bun:test";
import { sha1Hex } from "./hash.ts";

test("sha1Hex() is SHA-1: the vectors of RFC 3174 and of host interface names", () => {
  expect(sha1Hex("abc")).toBe("a9993e364706816aba3e25717850c26c9cd0d89d");
  expect(sha1Hex("default.nginx").slice(0, 11)).toBe("c440f455693");
});
