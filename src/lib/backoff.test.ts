import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { AFTER_OUTAGE, delayAfter, retry } from "./backoff.ts";
import { startDeadline } from "./deadline.ts";
import { NetplugError } from "./errors.ts";
import { fakeClock } from "../../test/support/fake-clock.ts";
import { seededRandom } from "../../test/support/seeded-random.ts";
import { testSeed } from "../../test/support/seed.ts";

const seed = testSeed();

test("every delay lies between half of the grown delay and all of it, and below the ceiling", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 200 }), fc.nat(), (attempt, randomSeed) => {
      const delay = delayAfter(attempt, AFTER_OUTAGE, seededRandom(randomSeed));
      const grown = Math.min(AFTER_OUTAGE.maxMs, AFTER_OUTAGE.firstMs * 2 ** (attempt - 1));
      expect(delay).toBeGreaterThanOrEqual(grown / 2);
      expect(delay).toBeLessThanOrEqual(grown);
    }),
    { seed },
  );
});

describe("retry()", () => {
  const again = new NetplugError("tryAgainLater", "no answer");

  test("goes on until the operation succeeds", async () => {
    const clock = fakeClock();
    const attempts: number[] = [];
    const result = retry(
      async (attempt) => {
        attempts.push(attempt);
        if (attempt < 4) throw again;
        return "done";
      },
      { clock, random: seededRandom(seed), deadline: startDeadline(clock, 10_000) },
    );
    await clock.advance(5_000);
    expect(await result).toBe("done");
    expect(attempts).toEqual([1, 2, 3, 4]);
  });

  test("throws at once what cannot succeed later", async () => {
    const clock = fakeClock();
    let attempts = 0;
    const denied = new NetplugError("accessDenied", "no permission");
    const outcome = retry(
      async () => {
        attempts++;
        throw denied;
      },
      { clock, random: seededRandom(seed), deadline: startDeadline(clock, 10_000) },
    ).catch((thrown: unknown) => thrown);
    expect(await outcome).toBe(denied);
    expect(attempts).toBe(1);
  });

  test("gives up with the last failure when the next try would be too late", async () => {
    const clock = fakeClock();
    const outcome = retry(() => Promise.reject(again), {
      clock,
      random: seededRandom(seed),
      deadline: startDeadline(clock, 3_000),
    }).catch((thrown: unknown) => thrown);
    await clock.advance(3_000);
    expect(await outcome).toBe(again);
    expect(clock.sleepers).toBe(0);
  });

  test("makes no more tries than allowed and tells of each wait", async () => {
    const clock = fakeClock();
    const waits: number[] = [];
    const outcome = retry(() => Promise.reject(again), {
      clock,
      random: seededRandom(seed),
      deadline: startDeadline(clock, 60_000),
      maxAttempts: 3,
      onRetry: (_, attempt) => waits.push(attempt),
    }).catch((thrown: unknown) => thrown);
    await clock.advance(60_000);
    expect(await outcome).toBe(again);
    expect(waits).toEqual([1, 2]);
  });
});
