import { expect, test } from "bun:test";
import fc from "fast-check";
import { fakeClock } from "../../../test/support/time/fake-clock.ts";
import { testSeed } from "../../../test/support/seed.ts";
import { RateLimit } from "./rate-limit.ts";

test("a burst goes at once, what follows at the rate", () => {
  const limit = new RateLimit({ qps: 10, burst: 3 }, fakeClock());
  expect(Array.from({ length: 6 }, () => limit.take())).toEqual([0, 0, 0, 100, 200, 300]);
});

test("rest fills the bucket again, and no further than the burst", async () => {
  const clock = fakeClock();
  const limit = new RateLimit({ qps: 10, burst: 3 }, clock);
  for (let i = 0; i < 5; i++) limit.take();
  await clock.advance(200);
  expect(limit.take()).toBe(100);
  await clock.advance(60_000);
  expect([limit.take(), limit.take(), limit.take(), limit.take()]).toEqual([0, 0, 0, 100]);
});

test("a refunded token is as if it had never been taken", () => {
  const limit = new RateLimit({ qps: 1, burst: 1 }, fakeClock());
  limit.take();
  expect(limit.take()).toBe(1000);
  limit.refund();
  expect(limit.take()).toBe(1000);
});

test("with a rate of 0, no request waits", () => {
  const limit = new RateLimit({ qps: 0, burst: 1 }, fakeClock());
  expect([limit.take(), limit.take()]).toEqual([0, 0]);
});

test("in no stretch of time are there more requests than burst and rate allow", async () => {
  const gaps = fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 1, maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 10 }), gaps, async (qps, burst, waits) => {
      const clock = fakeClock();
      const limit = new RateLimit({ qps, burst }, clock);
      const sentAt: number[] = [];
      for (const wait of waits) {
        await clock.advance(wait);
        sentAt.push(clock.monotonic() + limit.take());
      }
      for (let from = 0; from < sentAt.length; from++) {
        for (let to = from; to < sentAt.length; to++) {
          const seconds = ((sentAt[to] ?? 0) - (sentAt[from] ?? 0)) / 1000;
          expect(to - from + 1).toBeLessThanOrEqual(burst + qps * seconds + 1e-6);
        }
      }
    }),
    { seed: testSeed(), numRuns: 50 },
  );
});
