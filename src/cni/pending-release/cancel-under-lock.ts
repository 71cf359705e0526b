/** Cancelling a pending release that is there. Loaded only then. */

import type { CommitsUnderWay } from "../attachment-state/hold.ts";
import { removeNodeFile, tolerate } from "../attachment-state/node-files.ts";
import { mayArrive, readPending } from "../attachment-state/pending-file.ts";
import type { LocalCall } from "../call.ts";
import { waitForPendingLock } from "./lock.ts";

/** @see cancelPending */
export async function cancelUnderLock(
  call: LocalCall,
  commits: Pick<CommitsUnderWay, "noteUnderWay">,
  writeOwn: (() => void) | undefined,
): Promise<boolean> {
  using _lock = await waitForPendingLock(call);
  // What an earlier ADD has sent may still arrive: it is looked for after this ADD, unless this one's own commit changes the same blocks.
  const pending = tolerate(call, () => readPending(call));
  if (pending !== undefined && mayArrive(call, pending.until)) commits.noteUnderWay();
  const isReplaced = tolerate(call, () => {
    writeOwn?.();
    return writeOwn !== undefined;
  });
  if (isReplaced !== true) removeNodeFile(call, "unreleased");
  return pending !== undefined;
}
