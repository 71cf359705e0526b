/** For tests: a process that stands still, as on a machine that has no time for it. */

import { readdirSync, readFileSync } from "node:fs";

/** Of a thread or program that has ended, and whose parent has not looked yet: it stays so. */
const ENDED = "Z";

/**
 * Sends `SIGSTOP`, and waits until it holds: the threads of a program do not all stop at the same moment, and until then it may still
 * answer. Does nothing when the process has ended.
 */
export async function standStill(pid: number): Promise<void> {
  try {
    process.kill(pid, "SIGSTOP");
    while (threadStatesOf(pid).some((state) => state !== "T" && state !== ENDED)) await Bun.sleep(1);
  } catch (thrown) {
    if (!isGone(thrown)) throw thrown;
  }
}

/** State letters of all threads of a process, as `proc(5)` has them. */
function threadStatesOf(pid: number): readonly string[] {
  return readdirSync(`/proc/${pid}/task`).map((thread) => {
    const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2, stat.lastIndexOf(")") + 3);
  });
}

function isGone(thrown: unknown): boolean {
  const code = thrown instanceof Error && "code" in thrown ? thrown.code : undefined;
  return code === "ENOENT" || code === "ESRCH";
}
