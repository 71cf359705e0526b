/**
 * Runs a call again after it met a block whose record cannot be read: this time without that block. Nobody knows who has the block's addresses,
 * but it stays claimed, so none of them is allocated again. What that means for a verb stands at its function.
 */

import type { CorruptBlock } from "../../api/ipam-block-codec.ts";
import { withoutDamaged } from "../../datastore/without-damaged.ts";
import { NetplugError } from "../../lib/errors.ts";
import { quote } from "../../lib/quote.ts";
import { linkNamesOf, openNetnsOfCall } from "../call-requests.ts";
import { type Call, isMain } from "../call.ts";
import type { FailedRun } from "../failed-run.ts";
import type { Host } from "../host.ts";
import { findExisting } from "../link/find.ts";
import { openLinkSockets } from "../link/sockets.ts";
import { leavePending } from "../pending-release/after-failed-del.ts";
import type { CniVerb } from "../protocol/versions.ts";
import { OwnAddresses } from "./own-addresses.ts";

/** A call that is run again. */
interface Retry {
  readonly call: Call;
  /** What the first run failed with. */
  readonly fault: CorruptBlock;
  /** What the second run shows of the attachment's addresses. */
  readonly own: OwnAddresses;
  /** Runs it. @throws `fault` before something is written, or answered, for which `mayGoOn` does not hold; what the run throws */
  readonly runAgain: (mayGoOn?: () => boolean) => Promise<void>;
}

/** @throws `fault` where the call cannot do without the damaged block; NetplugError */
export async function retryWithoutDamaged(verb: CniVerb, call: Call, { fault, run }: FailedRun<CorruptBlock>): Promise<void> {
  const own = new OwnAddresses(call);
  const runAgain: Retry["runAgain"] = (mayGoOn = () => true) =>
    runWithout(call, own, run, () => {
      if (!mayGoOn()) throw fault;
    });
  const retry: Retry = { call, fault, own, runAgain };
  switch (verb) {
    case "ADD":
      return await retryAdd(retry);
    case "DEL":
      return await retryDel(retry);
    case "CHECK":
      return await retryCheck(retry);
    case "GC":
      return await retryGc(retry);
    default:
      return await runAgain();
  }
}

/**
 * Goes on, unless the attachment may have an address in the block: a running pod must not get another one. Once it has given its answer it may not fail.
 */
async function retryAdd({ call, own, runAgain }: Retry): Promise<void> {
  const isRepeated = isMain(call.plugin) && hasInterface(call);
  await runAgain(() => own.areRecordedElsewhere() && (own.isAnyRecorded || !isRepeated));
}

/**
 * Releases what the attachment has in other blocks, and fails where it may have something in this one. It leaves to a later DEL: that, the pending
 * releases of earlier calls, and whatever an ADD that died before it recorded anything may have in this block.
 */
async function retryDel({ call, fault, own, runAgain }: Retry): Promise<void> {
  // The first DEL after the repair releases it. Which plugin held the attachment is not known any more: the failed run has ended the hold.
  const leaveToLaterDel = (): void => leavePending(call, undefined);
  try {
    await runAgain(() => own.areSurelyElsewhere());
    if (!own.areSurelyElsewhere()) throw fault;
  } catch (thrown) {
    if (thrown === fault) leaveToLaterDel();
    throw thrown;
  }
  if (own.mayBeUnrecorded()) leaveToLaterDel();
}

/** Reports on attachments whose addresses are in other blocks. */
async function retryCheck({ fault, own, runAgain }: Retry): Promise<void> {
  try {
    await runAgain();
  } catch (thrown) {
    throw own.areSurelyElsewhere() ? thrown : fault;
  }
}

/** Releases what it can, and fails. */
async function retryGc({ fault, runAgain }: Retry): Promise<void> {
  await runAgain();
  throw fault;
}

/** @param requireMayGoOn called before each commit, and before the answer: an ADD that may not go on has no result, and is undone */
async function runWithout(call: Call, own: OwnAddresses, run: FailedRun["run"], requireMayGoOn: () => void): Promise<void> {
  const leftOut: string[] = [];
  const datastore = withoutDamaged(call.datastore, {
    onLeftOut(cidr, reason) {
      call.log.warning(`block ${quote(cidr)} is left out`, { reason });
      leftOut.push(reason);
    },
    onRead: (query, answer) => own.add(query, answer),
    beforeCommit: requireMayGoOn,
  });
  const writeAnswer: Host["writeAnswer"] = (text, remainingMs) => {
    requireMayGoOn();
    call.host.writeAnswer(text, remainingMs);
  };
  try {
    await run({ ...call, host: { ...call.host, writeAnswer }, datastore, isWithoutDamaged: true });
  } catch (thrown) {
    // The free addresses of a block that is left out count as allocated: an error for want of addresses says so.
    const isForWant = thrown instanceof NetplugError && thrown.kind === "noAddressLeft";
    throw isForWant ? thrown.reworded(thrown.message, leftOut.join("; ")) : thrown;
  }
}

/** Whether the attachment's interface exists already. */
function hasInterface(call: Call): boolean {
  using netns = openNetnsOfCall(call);
  using sockets = openLinkSockets(call.host.kernel, netns, linkNamesOf(call));
  return findExisting(sockets)?.isOurs === true;
}
