/**
 * ADDs that run beside a GC. CNI forbids them, but runtimes make them: the attachment is not in the list of valid ones yet. It is recognised by
 * its hold, which an ADD takes before it does anything. But a hold outlives its ADD, so it counts only while the ADD may run:
 *
 * - it was taken, or its ADD has succeeded, since this process began (the list is older than the process); or
 * - the process that took it still runs, and began before the hold was taken, but no longer before it than an ADD can take; and its caller runs,
 *   too: an ADD that outlives its runtime is late, and nobody would call DEL for what it gets. So another process that has the same number by
 *   now, or has it in another PID namespace, is hardly ever mistaken for it, and never for longer than an ADD can take.
 */

import { type Attachment, attachmentKeyOf } from "../../ipam/request.ts";
import { parseProcessStat } from "../../linux/process-start.ts";
import { isAddOver, longestAddMs } from "../attachment-state/add-time.ts";
import { type HoldNote, readHold } from "../attachment-state/hold-note.ts";
import { tolerate } from "../attachment-state/node-files.ts";
import type { LocalCall } from "../call.ts";

/** The kernel tells the start of a process to 10 ms, rounded down. */
const START_STEP_MS = 10;

/** States of a process that has ended, whether or not its parent knows. @see proc_pid_stat(5) */
const ENDED: readonly string[] = ["Z", "X", "x"];

/** The ADDs that run beside a GC. */
export interface ConcurrentAdds {
  /** Whether an ADD has the attachment; says so in the log once. @param network by default that of the call */
  has(attachment: Attachment, network?: string): boolean;
}

/** Call it before the GC looks for anything. */
export function watchConcurrentAdds(call: LocalCall): ConcurrentAdds {
  const { host, log } = call;
  const begun = host.processStartSinceBoot() ?? host.sinceBoot();
  const runningMs = host.clock.monotonic() - host.processStart();
  // This moment is never too early, because the time is read last: this process may have waited for a processor before that. So an ADD that has
  // ended after this moment was under way when this process began.
  const estimated = host.sinceBoot() - runningMs;
  const begunAtLatest = Math.min(Math.max(begun, estimated), begun + START_STEP_MS);
  const isOfRunningAdd = (hold: HoldNote | undefined): boolean =>
    hold !== undefined && !isAddOver(call, hold) && (hold.takenAt >= begun || hold.succeededAt > begunAtLatest || isRunning(call, hold));
  const logged = new Set<string>();
  return {
    has(attachment, network = call.config.name) {
      const look = (): boolean => isOfRunningAdd(readHold(call, { ...attachment, network }));
      // The second look is for an ADD that has ended after the first.
      const isConcurrent = tolerate(call, () => look() || look()) ?? false;
      const key = `${network} ${attachmentKeyOf(attachment)}`;
      if (isConcurrent && !logged.has(key)) {
        const { containerID, ifName } = attachment;
        log.warning("leave attachment: an ADD for it runs beside this GC, or has just ended", { of: containerID, interface: ifName });
        logged.add(key);
      }
      return isConcurrent;
    },
  };
}

/** Whether neither the process that took the hold has ended nor its caller, whose place another process takes then. */
function isRunning(call: LocalCall, { takenAt, processId, callerId }: HoldNote): boolean {
  const stat = Number.isInteger(processId) ? call.host.files.readText(`/proc/${processId}/stat`) : undefined;
  if (stat === undefined) return false;
  const { begin, fields } = parseProcessStat(stat);
  const [state = "", parent] = fields;
  return !ENDED.includes(state) && Number(parent) === callerId && begin <= takenAt && begin >= takenAt - longestAddMs(call) - START_STEP_MS;
}
