/** An ADD that failed releases what it had taken, or leaves that to a later DEL. Loaded only after a failure. */

import { NetplugError } from "../../lib/errors.ts";
import type { HoldInUndo } from "../attachment-state/hold.ts";
import { hasNodeFile, removeNodeFile } from "../attachment-state/node-files.ts";
import { lastArrival, NO_CONDITION, writePending } from "../attachment-state/pending-file.ts";
import { hasOwnIpam, type LocalCall } from "../call.ts";
import { waitForPendingLock } from "./lock.ts";

/**
 * Undoes a step of an ADD, unless a newer ADD has the attachment: that ADD may now have the same addresses. An ADD that begins meanwhile waits.
 *
 * @throws NetplugError tryAgainLater when it is not known who has the attachment, or other calls hold the lock too long; what `work` throws
 */
export async function unlessTaken(call: LocalCall, hold: HoldInUndo, work: () => Promise<void>): Promise<void> {
  if (hold.state() === "unknown")
    throw new NetplugError("tryAgainLater", "tell whether a newer ADD has them: nothing is noted on the node");
  const isLate = hold.isCommitUnderWay && hasOwnIpam(call);
  const isThere = hasNodeFile(call, "unreleased");
  const until = isLate ? lastArrival(call) : 0;
  if (!isThere) writePending(call, { ...NO_CONDITION, until, addresses: [], pod: call.args.pod });
  using _lock = await waitForPendingLock(call);
  const isOthers = hold.state() === "taken" || hold.isSuperseded();
  if (!isOthers) await work();
  // The file stays for what may arrive after this, which a later DEL releases; one that was there before may be the newer ADD's.
  if (isOthers ? !isThere : !isLate) removeNodeFile(call, "unreleased");
}
