import { expect, test } from "bun:test";
import { NetplugError } from "../lib/errors.ts";
import { Interruption } from "./interruption.ts";

const failure = new NetplugError("tryAgainLater", "away");
const TOLD = [{ type: "interrupted", failure }] as const;
const RESUMED = [{ type: "resumed" }] as const;

test("a lost connection that the next try replaces is not told", () => {
  const interruption = new Interruption();
  for (let turn = 0; turn < 3; turn++) {
    expect(interruption.fail(failure, 1)).toEqual([]);
    expect(interruption.end()).toEqual([]);
  }
});

test("what lasts is told once, and its end too", () => {
  const interruption = new Interruption();
  expect([1, 2, 3, 4].map((failures) => interruption.fail(failure, failures))).toEqual([[], TOLD, [], []]);
  expect([1, 2].map(() => interruption.end())).toEqual([RESUMED, []]);
  expect([1, 2].map((failures) => interruption.fail(failure, failures))).toEqual([[], TOLD]);
});

test("connections that stand and bring nothing are told", () => {
  const interruption = new Interruption();
  const story = [1, 2, 3].map((failures) => [interruption.end(), interruption.fail(failure, failures)]);
  expect(story).toEqual([
    [[], []],
    [[], TOLD],
    [RESUMED, TOLD],
  ]);
});

test("several parts are interrupted once, and resumed with the last of them", () => {
  const interruption = new Interruption();
  const fail = (part: string): readonly unknown[] => [1, 2].flatMap((failures) => interruption.fail(failure, failures, part));
  expect([fail("a"), fail("b")]).toEqual([TOLD, []]);
  expect([interruption.end("c"), interruption.end("a"), interruption.end("b")]).toEqual([[], [], RESUMED]);
});
