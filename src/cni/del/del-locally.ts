/** A DEL whose config names no usable datastore or node: its steps on the host, and no others. Loaded only then. */

import { endHold } from "../attachment-state/ended-hold.ts";
import { hasOwnIpam, type LocalCall } from "../call.ts";
import { settle, throwFirstFailure } from "../failures.ts";
import { leavePending } from "../pending-release/after-failed-del.ts";
import { preparePendingOfDel } from "../pending-release/while-deleting.ts";
import { beginLinkRemoval, lockPodNetns, releaseFromDelegate } from "./host-steps.ts";

/**
 * Removes the link, and releases the delegate's addresses. Leaves a pending release of our own ones.
 *
 * @throws `fault`, with what else went wrong in its details
 */
export async function delLocally(call: LocalCall, fault: unknown): Promise<never> {
  using _locked = await lockPodNetns(call);
  const pending = hasOwnIpam(call) ? preparePendingOfDel(call) : undefined;
  const ended = endHold(call, pending?.write);
  if (ended.isTaken()) throw fault;
  const removal = beginLinkRemoval(call);
  const delegate = await settle(() => releaseFromDelegate(call, removal, ended));
  const link = removal.finish();
  if (link.ok && hasOwnIpam(call) && !ended.isTaken()) leavePending(call, ended.hold, pending);
  throwFirstFailure([{ ok: false, error: fault }, link, delegate]);
  throw fault;
}
