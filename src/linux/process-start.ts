/** When this process began: a clock of its own begins only after the executable is loaded. */

import type { Clock } from "../lib/ports.ts";
import { check } from "./kernel-error.ts";
import { libc } from "./libc.ts";

/** @see include/uapi/linux/time.h */
const CLOCK_THREAD_CPUTIME_ID = 3;

/**
 * In milliseconds of `clock.monotonic()`, so mostly a small negative number. To be asked once, early: the process has run at least as long
 * as its main thread had the processor, which for one that has just begun is nearly all of the time, and as long as its own clock says.
 *
 * `/proc/self/stat` knows it to 10 ms only, and reading it costs more than all the rest of the ledger.
 */
export function readProcessStart(clock: Pick<Clock, "monotonic">): number {
  const now = clock.monotonic();
  return now - Math.max(readProcessorTime(), now);
}

/** Milliseconds. */
function readProcessorTime(): number {
  const time = new Int32Array(4);
  check(libc().clock_gettime(CLOCK_THREAD_CPUTIME_ID, time), "read", "clock");
  // `struct timespec` of two 64-bit words, little-endian; neither needs its upper half.
  return (time[0] ?? 0) * 1000 + (time[2] ?? 0) / 1_000_000;
}
