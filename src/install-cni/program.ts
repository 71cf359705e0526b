/** Entry point of the role: the real files, clock, processes, and the signals that end it. */

import { systemClock } from "../lib/clock.ts";
import { jsonSink } from "../lib/log/format.ts";
import { createLog } from "../lib/log/log.ts";
import { systemRandom } from "../lib/random.ts";
import { durableFiles } from "../linux/durable-files.ts";
import { linuxFiles } from "../linux/files.ts";
import { readHostName } from "../linux/hostname.ts";
import { linuxProcesses } from "../linux/processes.ts";
import { runInstallCni } from "./main.ts";

/** The executable of this process, even if another file has its name by now. */
const OWN_EXECUTABLE = "/proc/self/exe";

/**
 * Installs the plugin on the host that this process runs on, or in a pod of.
 *
 * @param args what follows the role's name
 * @returns the exit status
 */
export async function runAsProgram(args: readonly string[]): Promise<number> {
  const stop = new AbortController();
  // As the first process of a container it would otherwise not end at all.
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => stop.abort(new Error(`asked to end by ${signal}`)));
  return await runInstallCni(args, {
    env: process.env,
    userId: process.geteuid?.() ?? 0,
    executable: OWN_EXECUTABLE,
    clock: systemClock,
    random: systemRandom,
    disk: durableFiles,
    files: linuxFiles,
    processes: linuxProcesses,
    stopped: stop.signal,
    hostName: readHostName,
    openLog: (level) => createLog({ clock: systemClock, level, sinks: [jsonSink((line) => console.error(line))] }),
    say: (text) => console.error(text),
  });
}
