/** When this process began. The runtime's own clock begins only after the executable is loaded. */

import type { Clock } from "../lib/ports.ts";
import { CLOCK_BOOTTIME, CLOCK_THREAD_CPUTIME_ID } from "./constants.ts";
import { linuxFiles } from "./files.ts";
import { check } from "./kernel-error.ts";
import { libc } from "./libc.ts";

/**
 * An estimate in milliseconds of `clock.monotonic()`, mostly a small negative number. Call it once, early: the process has run at least as
 * long as its main thread used the processor, which at its beginning is nearly all of the time, and as long as its own clock says.
 *
 * `/proc/self/stat` has it to 10 ms only, and reading that costs more than the rest of the ledger.
 */
export function estimateProcessStart(clock: Pick<Clock, "monotonic">): number {
  const now = clock.monotonic();
  return now - Math.max(readClock(CLOCK_THREAD_CPUTIME_ID), now);
}

/** Milliseconds since the machine was started: the same for all processes, and nobody sets it. */
export function readTimeSinceBoot(): number {
  return readClock(CLOCK_BOOTTIME);
}

/** Milliseconds. */
function readClock(clock: number): number {
  const time = new Int32Array(4);
  check(libc().clock_gettime(clock, time), "read", "clock");
  // `struct timespec` of two 64-bit words, little-endian; neither needs its upper half.
  return (time[0] ?? 0) * 1000 + (time[2] ?? 0) / 1_000_000;
}

/** `USER_HZ`, the same on all architectures that we run on. */
const TICKS_PER_SECOND = 100;
/** Of `cminflt` and `starttime` behind the name of the program, which may hold anything. @see proc_pid_stat(5) */
const CHILD_FAULTS_FIELD = 8;
const START_FIELD = 19;

/** What `/proc/<pid>/stat` says of a process: when it began, or NaN, and what stands behind its name, the state first. */
export function parseProcessStat(stat: string): { readonly begin: number; readonly fields: readonly string[] } {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return { begin: (Number(fields[START_FIELD]) * 1000) / TICKS_PER_SECOND, fields };
}

/**
 * When this process began, in milliseconds of {@link readTimeSinceBoot}, to 10 ms. From the kernel, so right even if the process was stopped
 * since. Call it before this process starts another.
 *
 * For a shell that ran other programs before it became this one (`exec`), the time is too early; page faults of children show that.
 *
 * @returns undefined when the kernel does not say, or the process was such a shell
 */
export function readProcessStartSinceBoot(): number | undefined {
  const { begin, fields } = parseProcessStat(linuxFiles.readText("/proc/self/stat") ?? "");
  return Number.isFinite(begin) && fields[CHILD_FAULTS_FIELD] === "0" ? begin : undefined;
}
