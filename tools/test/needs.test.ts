import { expect, test } from "bun:test";
import { maySkip, needOf } from "./needs.ts";

test("a skip without a named need is not allowed, nor one with an unknown need", () => {
  expect(needOf("drives every verb (needs go)")).toBe("go");
  expect(maySkip("drives every verb")).toBe(false);
  expect(maySkip("flies (needs wings)")).toBe(false);
});
