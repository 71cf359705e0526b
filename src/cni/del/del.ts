/** DEL: removes the link, then what it can at the datastore and the delegate. It succeeds when nothing is left to do. */

import { type DelRequest, delQueries } from "../../endpoint/plan-del.ts";
import type { Facts } from "../../ipam/facts.ts";
import { type EndedHold, endHold } from "../attachment-state/ended-hold.ts";
import { toDelRequest } from "../call-requests.ts";
import { type Call, hasOwnIpam } from "../call.ts";
import { settle, throwFirstFailure } from "../failures.ts";
import { addressesOf } from "../protocol/result.ts";
import { beginReading } from "../transact-ports.ts";
import { withdraw } from "../withdraw/withdraw.ts";
import { beginLinkRemoval, type LinkRemoval, lockPodNetns, releaseFromDelegate, requireUnregistered } from "./host-steps.ts";

/**
 * Does all that can be done, then throws the first failure: the runtime tries again. Without `CNI_ARGS` the attachment's allocations tell
 * what its record is called.
 *
 * @throws NetplugError tryAgainLater when the datastore is away, malformedRequest when `CNI_ARGS` could not be read
 */
export async function del(call: Call): Promise<void> {
  const { argsFault } = call;
  const request = toDelRequest(call);
  using _locked = await lockPodNetns(call);
  const pending = hasOwnIpam(call) ? (await import("../pending-release/while-deleting.ts")).preparePendingOfDel(call) : undefined;
  const ended = endHold(call, pending?.write);
  if (ended.isTaken()) return logTaken(call);
  // The kernel takes longest. Meanwhile, read the datastore, decide, and release what the link no longer uses.
  const removal = beginLinkRemoval(call);
  const reading = beginReading(call, delQueries(request));
  // While a block is left out, nobody sees whether a pending release has all its addresses released: it stays for a later DEL.
  const carriesOutPending = call.isWithoutDamaged !== true && hasOwnIpam(call);
  const gathering =
    carriesOutPending && import("../pending-release/leftovers.ts").then(({ gatherLeftovers }) => gatherLeftovers(call, pending));
  const delegate = await settle(() => releaseFromDelegate(call, removal, ended));
  const store = await settle(async () => withdrawOwn(call, request, await reading, { removal, ended }));
  const link = removal.finish();
  if (store.ok) {
    pending?.drop();
    const isAnyDue = await gathering;
    if (isAnyDue) await (await import("../pending-release/carry-out.ts")).carryOutPending(call);
  } else if (link.ok && hasOwnIpam(call)) {
    const { leavePendingUnlessRunAgain } = await import("../pending-release/after-failed-del.ts");
    // What a newer ADD has is for the DEL of that ADD.
    if (!ended.isTaken()) leavePendingUnlessRunAgain(call, store.error, ended.hold, pending);
  }
  throwFirstFailure([link, delegate, store, argsFault === undefined ? { ok: true } : { ok: false, error: argsFault }]);
}

/** A late DEL does nothing: its runtime has ended, and the next one has called ADD. */
function logTaken(call: Call): void {
  call.log.info("a newer ADD has the attachment, leave it");
}

/** Withdraws addresses and record, unless a newer ADD has the attachment: its addresses would have the same owner. */
async function withdrawOwn(
  call: Call,
  request: DelRequest,
  facts: Facts,
  { removal, ended }: { readonly removal: LinkRemoval; readonly ended: EndedHold },
): Promise<void> {
  let isTaken = false;
  const beforeCommit = (): void => {
    requireUnregistered(removal);
    isTaken = ended.isTaken();
    if (isTaken) throw new Error("a newer ADD has the attachment");
  };
  // On Kubernetes a record does not name its network, so this one may belong to that other network.
  const own: DelRequest = removal.isAnotherNetworks ? { ...request, records: "none" } : request;
  const withdrawn = await settle(async () => {
    // One commit takes all of it: it may change many more blocks than an attachment has addresses in.
    const { released } = await withdraw(call, own, { facts, beforeCommit });
    const { prevResult } = call.config;
    if (released.length > 0 || prevResult === undefined || !hasOwnIpam(call)) return;
    const { withdrawElsewhere } = await import("../withdraw/withdraw-elsewhere.ts");
    await withdrawElsewhere(call, addressesOf(prevResult), own, { beforeCommit });
  });
  if (isTaken) logTaken(call);
  else if (!withdrawn.ok) throw withdrawn.error;
}
