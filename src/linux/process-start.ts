/** When this process began: a clock of its own begins only after the executable is loaded. */

import type { Clock } from "../lib/ports.ts";
import { linuxFiles } from "./files.ts";
import { check } from "./kernel-error.ts";
import { libc } from "./libc.ts";

/** @see include/uapi/linux/time.h */
const CLOCK_THREAD_CPUTIME_ID = 3;
const CLOCK_BOOTTIME = 7;

/** `/proc` counts in hundredths of a second on every architecture. */
const TICK_MS = 10;
/** Field 22 of `/proc/self/stat`, counted behind the name, which may hold anything. */
const START_FIELD = 19;

/**
 * In milliseconds of `clock.monotonic()`, so mostly a small negative number.
 *
 * The kernel tells the start to 10 ms only. Within these the process has run at least as long as its main thread had the processor,
 * which for one that has just begun is nearly all of the time, and as long as its own clock says.
 */
export function readProcessStart(clock: Pick<Clock, "monotonic">): number {
  const now = clock.monotonic();
  const ranMs = Math.max(readClock(CLOCK_THREAD_CPUTIME_ID), now);
  const startTick = readStartTick();
  if (startTick === undefined) return now - ranMs;
  const longestMs = readClock(CLOCK_BOOTTIME) - startTick * TICK_MS;
  const shortestMs = longestMs - TICK_MS;
  return now - Math.max(shortestMs, Math.min(ranMs, longestMs));
}

function readStartTick(): number | undefined {
  const stat = linuxFiles.readText("/proc/self/stat") ?? "";
  const ticks = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[START_FIELD]);
  return Number.isFinite(ticks) ? ticks : undefined;
}

/** Milliseconds. */
function readClock(id: number): number {
  const time = new BigInt64Array(2);
  check(libc().clock_gettime(id, time), "read", "clock");
  return Number(time[0]) * 1000 + Number(time[1]) / 1_000_000;
}
