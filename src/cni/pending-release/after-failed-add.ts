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
  const mayArrive = hold.commits.mayArrive && hasOwnIpam(call);
  const wasThere = hasNodeFile(call, "unreleased");
  if (!wasThere) writePending(call, { ...NO_CONDITION, until: mayArrive ? lastArrival(call) : 0, addresses: [], pod: call.args.pod });
  using _lock = await waitForPendingLock(call);
  if (hold.state() === "taken" || hold.isSuperseded()) {
    // One that was there before may be the newer ADD's.
    if (!wasThere) removeNodeFile(call, "unreleased");
    return;
  }
  await work();
  // Else it stays, and a later DEL releases what arrives after this.
  if (!mayArrive) removeNodeFile(call, "unreleased");
}
