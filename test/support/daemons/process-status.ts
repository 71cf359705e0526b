/** What the kernel says about a process. */

import { readdirSync, readFileSync } from "node:fs";

/**
 * When it started, in ticks since the machine's start: with the number it names a process for good.
 *
 * @returns undefined when it has ended
 */
export function startTimeOf(pid: number): string | undefined {
  const [, fields] = readStat(pid);
  return fields[0] === "Z" || fields[0] === "X" ? undefined : fields[19];
}

/** Milliseconds of a tick in which the kernel tells processor time. */
const TICK_MS = 10;

/** Milliseconds of processor time that all processes of a name have used, with those that they started and waited for. */
export function processorTimeOf(name: string): number {
  const times = readdirSync("/proc").map((pid) => {
    const [found, fields] = readStat(pid);
    return found === name ? fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) : 0;
  });
  return TICK_MS * times.reduce((sum, ticks) => sum + ticks, 0);
}

/** @returns the name, and what stands behind it, the state first; nothing when it has ended @see man 5 proc_pid_stat */
function readStat(pid: number | string): readonly [name: string | undefined, fields: readonly string[]] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // the name, in parentheses, may hold spaces and parentheses itself
    const end = stat.lastIndexOf(")");
    return [stat.slice(stat.indexOf("(") + 1, end), stat.slice(end + 2).split(" ")];
  } catch {
    return [undefined, []];
  }
}
