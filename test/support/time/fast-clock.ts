/** For tests: a clock that can be told to run faster: what waits for half a minute in vain waits for half a second then. */

import { systemClock } from "../../../src/lib/clock.ts";
import type { Clock } from "../../../src/lib/ports.ts";

export interface FastClock extends Clock {
  /** From now on a second is over after `1 / factor` seconds. */
  speedUp(factor: number): void;
}

export function fastClock(): FastClock {
  let factor = 1;
  let changedAt = systemClock.monotonic();
  let before = changedAt;
  const monotonic = (): number => before + (systemClock.monotonic() - changedAt) * factor;
  return {
    now: systemClock.now,
    monotonic,
    sleep: (ms, signal) => systemClock.sleep(ms / factor, signal),
    speedUp(wanted) {
      before = monotonic();
      changedAt = systemClock.monotonic();
      factor = wanted;
    },
  };
}
