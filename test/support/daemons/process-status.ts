/** What the kernel says about a process. */

import { readFileSync } from "node:fs";

/**
 * When it started, in ticks since the machine's start: with the number it names a process for good.
 *
 * @returns undefined when it has ended
 */
export function startTimeOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // the name, in parentheses, may hold spaces and parentheses itself
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" || fields[0] === "X" ? undefined : fields[19];
  } catch {
    return undefined;
  }
}
