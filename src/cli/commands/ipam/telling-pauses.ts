/** What a command waits for, and how long: a person waits, too. */

import type { Clock } from "../../../lib/ports.ts";
import type { Progress } from "../../io.ts";

const SECOND_MS = 1_000;

/** As much of a clock as it takes to pause. */
type PausingClock = Pick<Clock, "now" | "sleep">;

/** The same clock, which tells second by second how long a pause still is. @param next what comes after it */
export function tellingPauses(clock: PausingClock, progress: Progress | undefined, next: string): PausingClock {
  if (progress === undefined) return clock;
  const sleep: Clock["sleep"] = async (ms, signal) => {
    for (let leftMs = ms; leftMs > 0; leftMs -= SECOND_MS) {
      progress.tell("done", `${next} in ${Math.ceil(leftMs / SECOND_MS)} s`);
      await clock.sleep(Math.min(leftMs, SECOND_MS), signal);
    }
    progress.tell("done", "");
  };
  return { now: () => clock.now(), sleep };
}
