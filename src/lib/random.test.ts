import { expect, test } from "bun:test";
import { seededRandom } from "../../test/support/seeded-random.ts";
import { randomInteger } from "./random.ts";

test("the same seed gives the same sequence, another seed another", () => {
  const take = (seed: number): number[] => Array.from({ length: 5 }, seededRandom(seed));
  expect(take(7)).toEqual(take(7));
  expect(take(7)).not.toEqual(take(8));
});

test("randomInteger() reaches every number below the limit about equally often", () => {
  const random = seededRandom(42);
  const counts = Array<number>(8).fill(0);
  for (let i = 0; i < 8_000; i++) counts[randomInteger(random, 8)]!++; // eight counts, and no number reaches 8
  for (const count of counts) expect(Math.abs(count - 1_000)).toBeLessThan(150);
});
