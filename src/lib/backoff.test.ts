import { expect, test } from "bun:test";
import fc from "fast-check";
import { delayAfter } from "./backoff.ts";
import { seededRandom } from "../../test/support/seeded-random.ts";
import { testSeed } from "../../test/support/seed.ts";

const seed = testSeed();

test("every delay lies between half of the grown delay and all of it, and below the ceiling", () => {
  const backoff = { firstMs: 50, maxMs: 2000 };
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 200 }), fc.nat(), (attempt, randomSeed) => {
      const delay = delayAfter(attempt, backoff, seededRandom(randomSeed));
      const grown = Math.min(backoff.maxMs, backoff.firstMs * 2 ** (attempt - 1));
      expect(delay).toBeGreaterThanOrEqual(grown / 2);
      expect(delay).toBeLessThanOrEqual(grown);
    }),
    { seed },
  );
});
