/** An ADD begins: what earlier calls left to release is its own from now on. The rest of that, `cancel.ts`, few ADDs need. */

import type { Hold } from "../attachment-state/hold.ts";
import { hasNodeFile, tolerate } from "../attachment-state/node-files.ts";
import type { LocalCall } from "../call.ts";

/**
 * Cancels the pending release of an attachment that an ADD has taken hold of. The ADD calls this before it reads what is allocated, which
 * nobody may release from then on. Waits for a release that is running.
 *
 * @param writeOwn writes the ADD's own, if it has one: in place of the other, in one step, because the ADD may be killed at any moment
 * @throws NetplugError tryAgainLater when that release takes too long
 */
export async function claimPending(call: LocalCall, hold: Hold, writeOwn?: () => void): Promise<void> {
  if (hasNodeFile(call, "unreleased")) await (await import("./cancel.ts")).cancelPending(call, hold, writeOwn);
  else if (writeOwn !== undefined) tolerate(call, writeOwn);
}
