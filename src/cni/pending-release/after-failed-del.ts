/** A DEL that failed leaves the release to a later one. Loaded only after a failure. */

import { CorruptBlock } from "../../api/ipam-block-codec.ts";
import type { Netns } from "../../linux/netns.ts";
import { isNamedByProcess, isNameGone } from "../attachment-state/gone-netns.ts";
import type { HoldNote } from "../attachment-state/hold-note.ts";
import { tolerate } from "../attachment-state/node-files.ts";
import { lastArrival, NO_CONDITION, type PendingRelease, readPending, writePending } from "../attachment-state/pending-file.ts";
import { type Call, isMain, type LocalCall } from "../call.ts";
import { findLink } from "../link/find.ts";
import type { Kernel } from "../link/kernel.ts";
import { addressesOf } from "../protocol/result.ts";
import type { PendingOfDel } from "./while-deleting.ts";

/** What the ADD noted of the attachment that is of use here. */
type KnownHold = Pick<HoldNote, "path" | "id" | "plugin" | "isOver"> | undefined;

/**
 * Leaves to a later DEL what this one could not release, whatever the reason: the runtime may not repeat the DEL when the reason has passed. After
 * a damaged block it leaves nothing, because the same call is run again without that block.
 *
 * @param reason why it was not released
 * @param hold who held the attachment, if that is known
 * @param own the pending release that the DEL wrote as it began, which this one replaces
 */
export function leavePendingUnlessRunAgain(call: Call, reason: unknown, hold: KnownHold, own: PendingOfDel | undefined): void {
  if (call.isWithoutDamaged === true || !(reason instanceof CorruptBlock)) leavePending(call, hold, own);
  else own?.drop();
}

/**
 * Leaves the pending release of a DEL that could not release its addresses. When the interface may be another main plugin's, we cannot see
 * whether it is gone, but we can see whether its namespace is.
 */
export function leavePending(call: LocalCall, hold: KnownHold, own?: PendingOfDel): void {
  tolerate(call, () => {
    const condition = conditionOf(call, hold);
    if (condition === undefined) return;
    // The DEL's own is replaced in one step: the DEL may be killed at any moment.
    const ownSoFar = own?.afterDel();
    const earlier = ownSoFar ?? readPending(call);
    // An earlier call's about another namespace stays: the addresses may still be in use there.
    if (ownSoFar === undefined && earlier !== undefined && earlier.path !== condition.path) return;
    const { prevResult } = call.config;
    const addresses = prevResult === undefined ? (earlier?.addresses ?? []) : addressesOf(prevResult);
    // Where the DEL has noted nothing ahead, it waits for the last request of a killed ADD all the same.
    const until = earlier?.until ?? (hold?.isOver === false ? lastArrival(call) : 0);
    writePending(call, { ...condition, until, addresses, pod: call.args.pod ?? earlier?.pod });
  });
}

/** Which namespace must be gone before the release; undefined: nobody could tell when the addresses are free. */
function conditionOf(
  { plugin, environment: { netns: path = "", ifName }, host: { kernel, files } }: LocalCall,
  hold: KnownHold,
): Pick<PendingRelease, "path" | "id"> | undefined {
  // Then the interface was ours, and is gone.
  if (isMain(plugin) && isMain(hold?.plugin)) return NO_CONDITION;
  // The addresses are in use where the ADD was, whatever the DEL names.
  if (!isMain(plugin) && hold !== undefined && hold.id !== "") return waitingFor(hold);
  let netns: Netns | undefined;
  try {
    netns = kernel.openNetns(path);
  } catch {
    return undefined;
  }
  // A DEL for addresses alone may name a namespace that never was.
  if (netns === undefined) return isMain(plugin) && isNameGone(files, path) ? NO_CONDITION : undefined;
  using existing = netns;
  // Nobody knows whose interface it was, but it is not there.
  if (isMain(plugin) && hold?.plugin === undefined && !hasInterface(kernel, existing, ifName)) return NO_CONDITION;
  return waitingFor(existing);
}

/** Undefined where nobody would see that the namespace is gone. */
function waitingFor({ path, id }: Pick<PendingRelease, "path" | "id">): Pick<PendingRelease, "path" | "id"> | undefined {
  return isNamedByProcess(path) ? undefined : { path, id };
}

function hasInterface(kernel: Kernel, netns: Netns, name: string): boolean {
  using pod = kernel.openRouteSocket(netns);
  return findLink(pod, { name }) !== undefined;
}
