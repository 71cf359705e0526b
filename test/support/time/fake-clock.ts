/** For tests: time that only moves when it is told to. */

import type { Clock } from "../../../src/lib/ports.ts";

export interface FakeClock extends Clock {
  /** Lets time pass; whoever slept until then goes on before this resolves. */
  advance(ms: number): Promise<void>;
  /** How many are asleep. */
  readonly sleepers: number;
}

interface Sleeper {
  readonly wakeAt: number;
  readonly wake: () => void;
}

/** Begins at `start` milliseconds since 1970; `monotonic` begins at 0. */
export function fakeClock(start = 1_700_000_000_000): FakeClock {
  let elapsed = 0;
  const sleepers = new Set<Sleeper>();
  return {
    now: () => start + elapsed,
    monotonic: () => elapsed,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted === true) {
          reject(signal.reason);
          return;
        }
        const sleeper: Sleeper = { wakeAt: elapsed + ms, wake: resolve };
        sleepers.add(sleeper);
        signal?.addEventListener("abort", () => {
          if (sleepers.delete(sleeper)) reject(signal.reason);
        });
      }),
    async advance(ms) {
      const target = elapsed + ms;
      for (;;) {
        await settle();
        const next = [...sleepers].filter((sleeper) => sleeper.wakeAt <= target).sort((a, b) => a.wakeAt - b.wakeAt)[0];
        if (next === undefined) break;
        elapsed = Math.max(elapsed, next.wakeAt);
        sleepers.delete(next);
        next.wake();
      }
      elapsed = target;
      await settle();
    },
    get sleepers() {
      return sleepers.size;
    },
  };
}

/** Lets everything run that needs no time. */
async function settle(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve();
}
