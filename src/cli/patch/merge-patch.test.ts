import { expect, test } from "bun:test";
import { applyMergePatch, applyStrategicPatch } from "./merge-patch.ts";

/** @see RFC 7386, appendix A */
const CASES = [
  [{ a: "b" }, { a: "c" }, { a: "c" }],
  [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
  [{ a: "b" }, { a: null }, {}],
  [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
  [{ a: ["b"] }, { a: "c" }, { a: "c" }],
  [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
  [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
  [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
  [
    ["a", "b"],
    ["c", "d"],
    ["c", "d"],
  ],
  [{ a: "b" }, ["c"], ["c"]],
  [{ a: "foo" }, null, null],
  [{ a: "foo" }, "bar", "bar"],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [[1, 2], { a: "b", c: null }, { a: "b" }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
] as const;

test.each(CASES)("%j with %j merged into it is %j", (target, patch, result) => {
  const before = structuredClone(target);
  expect(applyMergePatch(target, patch)).toEqual(result);
  // Where no list is merged by a key, and no directive is given, both do the same.
  expect(applyStrategicPatch(target, patch)).toEqual(result);
  expect(target).toEqual(before);
});
