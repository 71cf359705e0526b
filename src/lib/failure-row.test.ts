import { expect, test } from "bun:test";
import { FailureRow } from "./failure-row.ts";
import type { Clock } from "./ports.ts";

const STEADY_MS = 1_000;

/** A row on a clock that moves when it is told to, and on which pauses pass at once. */
function makeRow() {
  let now = 0;
  const pauses: number[] = [];
  const clock: Clock = {
    now: () => 0,
    monotonic: () => now,
    async sleep(ms, signal) {
      signal?.throwIfAborted();
      pauses.push(ms);
    },
  };
  const row = new FailureRow({ clock, random: () => 1 }, { backoff: { firstMs: 50, maxMs: 400 }, steadyMs: STEADY_MS });
  return { row, pauses, pass: (ms: number) => (now += ms) };
}

const { signal } = new AbortController();

test("pauses grow with the failures in a row, up to the longest, and are short again after a success", async () => {
  const { row, pauses } = makeRow();
  for (const failures of [1, 2, 3, 4, 5, 1, 2]) {
    if (failures === 1) row.succeed();
    expect(row.fail()).toBe(failures);
    await row.pause(signal);
  }
  expect(pauses).toEqual([50, 100, 200, 400, 400, 50, 100]);
});

test.each([
  [STEADY_MS, [1, 1, 1]],
  [STEADY_MS - 1, [1, 2, 3]],
])("where each stands for %i ms before it fails, failures in a row are %j", (standMs, failures) => {
  const { row, pass } = makeRow();
  const counts = failures.map(() => {
    row.begin();
    pass(standMs);
    return row.fail();
  });
  expect(counts).toEqual(failures);
});

test("only the time counts in which it stands: not what lies between two tries", () => {
  const { row, pass } = makeRow();
  row.begin();
  expect(row.fail()).toBe(1);
  pass(STEADY_MS);
  expect(row.fail()).toBe(2);
  row.begin();
  expect(row.end()).toBe(false);
  pass(STEADY_MS);
  expect([row.end(), row.fail()]).toEqual([false, 3]);
});

test("it stands from when it has begun last", () => {
  const { row, pass } = makeRow();
  row.begin();
  pass(STEADY_MS - 1);
  row.begin();
  pass(1);
  expect(row.end()).toBe(false);
});

test("an end after it stood for long enough ends the row, and wants no pause; another one counts as a failure", async () => {
  const { row, pauses, pass } = makeRow();
  for (const standMs of [0, STEADY_MS - 1, STEADY_MS, 0]) {
    row.begin();
    pass(standMs);
    await row.pauseIfShort(signal);
  }
  expect(pauses).toEqual([50, 100, 50]);
  row.begin();
  pass(STEADY_MS);
  expect([row.end(), row.fail()]).toEqual([true, 1]);
});

test("what has brought something before it ends early has not stood for long enough", () => {
  const { row, pass } = makeRow();
  row.begin();
  row.succeed();
  pass(STEADY_MS - 1);
  expect([row.end(), row.fail()]).toEqual([false, 1]);
});

test("a pause is as long as is asked for, if its own is shorter, and none where the signal has aborted", async () => {
  const { row, pauses } = makeRow();
  row.fail();
  await row.pause(signal, 49);
  await row.pause(signal, 51);
  await row.pause(AbortSignal.abort());
  expect(pauses).toEqual([50, 51]);
});
