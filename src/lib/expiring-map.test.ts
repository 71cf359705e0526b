import { expect, test } from "bun:test";
import { fakeClock } from "../../test/support/time/fake-clock.ts";
import { ExpiringMap } from "./expiring-map.ts";

test("a value counts until its time is over, and from its last setting on", async () => {
  const clock = fakeClock();
  const map = new ExpiringMap<number>(clock, { lifetimeMs: 100, most: 10 });
  map.set("a", 1);
  await clock.advance(60);
  map.set("b", 2);
  await clock.advance(40);
  expect(map.values()).toEqual([1, 2]);
  map.set("a", 3);
  await clock.advance(60);
  expect([map.get("a"), map.get("b"), map.get("c")]).toEqual([3, 2, undefined]);
  await clock.advance(1);
  expect(map.values()).toEqual([3]);
  await clock.advance(40);
  expect([map.get("a"), map.values()]).toEqual([undefined, []]);
});

test("beyond the limit the oldest value goes, but none for one that is set anew", () => {
  const map = new ExpiringMap<number>(fakeClock(), { lifetimeMs: 100, most: 2 });
  map.set("a", 1);
  map.set("b", 2);
  map.set("a", 3);
  expect(map.values()).toEqual([2, 3]);
  map.set("c", 4);
  expect(map.values()).toEqual([3, 4]);
});

test("a value is taken once, and nothing is left of all that was before a clear", () => {
  const map = new ExpiringMap<number>(fakeClock(), { lifetimeMs: 100, most: 2 });
  map.set("a", 1);
  expect([map.take("a"), map.take("a")]).toEqual([1, undefined]);
  map.set("b", 2);
  map.clear();
  expect(map.values()).toEqual([]);
});
