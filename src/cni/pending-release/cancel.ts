/** An ADD begins: nothing that earlier calls left is released any more. Loaded by every ADD; few need `cancel-under-lock.ts`. */

import type { CommitsUnderWay } from "../attachment-state/hold.ts";
import { hasNodeFile, tolerate } from "../attachment-state/node-files.ts";
import type { LocalCall } from "../call.ts";

/**
 * Cancels the pending release of an attachment that an ADD has taken hold of. The ADD calls this before it reads what is allocated, which
 * nobody may release from then on. Waits for a release that is running.
 *
 * @param commits those of the ADD's hold: what an earlier ADD has sent may still arrive, and counts among them
 * @param writeOwn writes the ADD's own, if it has one: in place of the other, in one step, because the ADD may be killed at any moment
 * @returns whether there was one: the attachment may have addresses of an earlier ADD
 * @throws NetplugError tryAgainLater when that release takes too long
 */
export async function cancelPending(
  call: LocalCall,
  commits: Pick<CommitsUnderWay, "noteUnderWay">,
  writeOwn?: () => void,
): Promise<boolean> {
  if (hasNodeFile(call, "unreleased")) return await (await import("./cancel-under-lock.ts")).cancelUnderLock(call, commits, writeOwn);
  if (writeOwn !== undefined) tolerate(call, writeOwn);
  return false;
}
