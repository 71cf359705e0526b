import { expect, test } from "bun:test";
import { interleave, summarize } from "./summary.ts";

test("summarize() takes nearest-rank percentiles, in any order of values", () => {
  const values = Array.from({ length: 100 }, (_, index) => 100 - index);
  expect(summarize(values)).toEqual({ count: 100, p50: 50, p90: 90, p99: 99, min: 1, max: 100 });
  expect(summarize([7])).toMatchObject({ p50: 7, p99: 7 });
  expect(() => summarize([])).toThrow(RangeError);
});

test("interleave() lets each candidate begin in turn and leaves the warm-up out", async () => {
  const order: string[] = [];
  const candidate = (name: string) => ({ name, measure: (turn: number) => order.push(`${name}${turn}`) });
  const values = await interleave([candidate("a"), candidate("b")], 2, 1);
  expect(order).toEqual(["a0", "b0", "b1", "a1", "a2", "b2"]);
  expect(values).toEqual({ a: [4, 5], b: [3, 6] });
});
