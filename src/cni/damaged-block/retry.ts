/**
 * Runs a call again after it met a block whose record cannot be read: this time without that block. Nobody knows who has the block's addresses,
 * but it stays claimed, so none of them is allocated again. What each verb does:
 *
 * - ADD goes on, unless the attachment may have an address in the block: a running pod must not get another one;
 * - DEL releases what the attachment has in other blocks, and fails where it may have something in this one. It leaves to a later DEL: that, the
 *   pending releases of earlier calls, and whatever an ADD that died before it recorded anything may have in this block;
 * - CHECK reports on attachments whose addresses are in other blocks;
 * - GC releases what it can, and fails.
 */

import type { CorruptBlock } from "../../api/ipam-block-codec.ts";
import { withoutDamaged } from "../../datastore/without-damaged.ts";
import { NetplugError } from "../../lib/errors.ts";
import { quote } from "../../lib/quote.ts";
import { linkNamesOf, openNetnsOfCall } from "../call-requests.ts";
import { type Call, isMain } from "../call.ts";
import type { Host } from "../host.ts";
import { findExisting } from "../link/find.ts";
import { openLinkSockets } from "../link/sockets.ts";
import { leavePending } from "../pending-release/after-failed-del.ts";
import type { CniVerb } from "../protocol/versions.ts";
import type { FailedRun } from "../failed-run.ts";
import { OwnAddresses } from "./own-addresses.ts";

/** @throws `fault` where the call cannot do without the damaged block; NetplugError */
export async function retryWithoutDamaged(verb: CniVerb, call: Call, { fault, run }: FailedRun<CorruptBlock>): Promise<void> {
  const own = new OwnAddresses(call);
  const mayGoOn = conditionOf(verb, call, own);
  const requireMayGoOn = (): void => {
    if (!mayGoOn()) throw fault;
  };
  // The first DEL after the repair releases it. Which plugin held the attachment is not known any more: the failed run has ended the hold.
  const leaveToNext = (): void => leavePending(call, undefined);
  const leftOut: string[] = [];
  const datastore = withoutDamaged(call.datastore, {
    onLeftOut(cidr, reason) {
      call.log.warning(`block ${quote(cidr)} is left out`, { reason });
      leftOut.push(reason);
    },
    onRead: (query, answer) => own.add(query, answer),
    beforeCommit: requireMayGoOn,
  });
  // An ADD that may not go on has no result: it is undone.
  const writeAnswer: Host["writeAnswer"] = (text, remainingMs) => {
    requireMayGoOn();
    call.host.writeAnswer(text, remainingMs);
  };
  const host = { ...call.host, writeAnswer };
  try {
    await run({ ...call, host, datastore, isWithoutDamaged: true });
    if (verb === "GC") throw fault;
    // An ADD may not fail here: it has given its answer.
    if (verb !== "DEL") return;
    requireMayGoOn();
    if (own.mayBeUnrecorded()) leaveToNext();
  } catch (thrown) {
    if (verb === "DEL" && thrown === fault) leaveToNext();
    if (verb === "CHECK" && !own.areSurelyElsewhere()) throw fault;
    // The free addresses of a block that is left out count as allocated: an error for want of addresses says so.
    const isForWant = thrown instanceof NetplugError && thrown.kind === "noAddressLeft";
    throw isForWant ? thrown.reworded(thrown.message, leftOut.join("; ")) : thrown;
  }
}

/** What must hold before something is written, and at the end of a DEL. */
function conditionOf(verb: CniVerb, call: Call, own: OwnAddresses): () => boolean {
  if (verb === "DEL") return () => own.areSurelyElsewhere();
  if (verb !== "ADD") return () => true;
  const isRepeated = isMain(call.plugin) && hasInterface(call);
  return () => own.areRecordedElsewhere() && (own.isAnyRecorded || !isRepeated);
}

/** Whether the attachment's interface exists already. */
function hasInterface(call: Call): boolean {
  using netns = openNetnsOfCall(call);
  using sockets = openLinkSockets(call.host.kernel, netns, linkNamesOf(call));
  return findExisting(sockets)?.isOurs === true;
}
