/**
 * A call that met a block whose record cannot be read, once more without it. Which addresses it holds nobody knows. Nobody gets one of them, for
 * the block stays claimed, and
 *
 * - ADD goes on, unless the attachment may have an address in there: a running pod must not get another one;
 * - DEL gives back what the attachment has in other blocks, and fails where something of it may be in the damaged one; that, and what earlier
 *   calls left to be given back, it leaves to a later DEL;
 * - CHECK tells what it finds of attachments that are in other blocks;
 * - GC gives back what it can, and fails.
 */

import type { CorruptBlock } from "../../api/ipam-block-codec.ts";
import { NetplugError } from "../../lib/errors.ts";
import { quote } from "../../lib/quote.ts";
import { notePending } from "../attachment-state/give-back.ts";
import { linkNamesOf, netnsOptionsOf } from "../attachment.ts";
import type { Call } from "../call.ts";
import { findExisting } from "../link/find.ts";
import { openPodNetns } from "../link/pod-netns.ts";
import { openLinkSockets } from "../link/sockets.ts";
import type { Verb } from "../protocol/versions.ts";
import { OwnAddresses } from "./own-addresses.ts";
import { withoutDamaged } from "./sound-datastore.ts";

/** The call as it was played. */
export interface Played {
  /** What it met. */
  readonly fault: CorruptBlock;
  readonly play: (verb: Verb, call: Call) => Promise<string>;
}

/** @returns what is printed @throws `fault`, where the damaged block counts; NetplugError */
export async function playPastDamage(verb: Verb, call: Call, { fault, play }: Played): Promise<string> {
  const own = new OwnAddresses(call);
  const mayGoOn = conditionOf(verb, call, own);
  const expectMayGoOn = (): void => {
    if (!mayGoOn()) throw fault;
  };
  const leftOut: string[] = [];
  const datastore = withoutDamaged(call.datastore, {
    onLeftOut(cidr, reason) {
      call.log.warning(`block ${quote(cidr)} is left out`, { reason });
      leftOut.push(reason);
    },
    onRead: (query, answer) => own.add(query, answer),
    beforeCommit: expectMayGoOn,
  });
  try {
    const answer = await play(verb, { ...call, datastore, isPastDamage: true });
    expectMayGoOn();
    if (verb === "GC") throw fault;
    return answer;
  } catch (thrown) {
    // The first to come after the repair gives it back. Who held the attachment is known no more: the call as it was played has ended that.
    if (verb === "DEL" && thrown === fault) notePending(call, undefined);
    if (verb === "CHECK" && !own.areSurelyElsewhere()) throw fault;
    throw thrown instanceof NetplugError && thrown.kind === "noAddressLeft" ? withDetails(thrown, leftOut.join("; ")) : thrown;
  }
}

/** Pools count what a damaged block had left as given. */
function withDetails({ kind, message, cause }: NetplugError, details: string): NetplugError {
  return new NetplugError(kind, message, { cause, details });
}

/** What must hold before something is written, and at the end. */
function conditionOf(verb: Verb, call: Call, own: OwnAddresses): () => boolean {
  if (verb === "DEL") return () => own.areSurelyElsewhere();
  if (verb !== "ADD") return () => true;
  const isRepeated = call.plugin === "netplug" && stands(call);
  return () => own.areRecordedElsewhere() && (own.isAnyRecorded || !isRepeated);
}

/** Whether the attachment's interface stands. */
function stands(call: Call): boolean {
  using netns = openPodNetns(call.host.kernel, call.environment.netns ?? "", netnsOptionsOf(call));
  using sockets = openLinkSockets(call.host.kernel, netns, linkNamesOf(call));
  return findExisting(sockets)?.isOurs === true;
}
