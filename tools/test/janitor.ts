/** A process beside a run of the suite or of the bench: when the run ends, in whatever way, it clears what is left of it. */

import { clearLeftovers } from "./leftovers.ts";
import { isRunning } from "./processes.ts";

/** Starts one for this process. */
export function startJanitor(): void {
  // detached: an interrupt at the terminal must not reach it
  const child = Bun.spawn(["setsid", process.execPath, import.meta.path, String(process.pid)], {
    stdin: "pipe",
    stdout: "ignore",
    stderr: "ignore",
  });
  child.unref();
}

if (import.meta.main) {
  const run = Number(process.argv[2]);
  // the other end of the pipe closes when the run ends
  await Bun.stdin.text();
  while (isRunning(run)) await Bun.sleep(10);
  await clearLeftovers();
}
