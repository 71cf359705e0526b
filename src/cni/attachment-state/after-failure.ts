/** Releases what a failed ADD had taken, or notes that a later DEL must: see `pending-release.ts`. Loaded only after a failure. */

import { CorruptBlock } from "../../api/ipam-block-codec.ts";
import { LONGEST_ADD_MS } from "../../ipam/longest-add.ts";
import { NetplugError } from "../../lib/errors.ts";
import type { Netns } from "../../linux/netns.ts";
import { type Call, hasOwnIpam, type LocalCall } from "../call.ts";
import { findLink } from "../link/find.ts";
import type { Kernel } from "../link/kernel.ts";
import { addressesOf } from "../protocol/result.ts";
import { isFolderOfGone } from "./gone-netns.ts";
import type { Hold } from "./hold.ts";
import { attempt, hasNodeFile, removeNodeFile } from "./node-files.ts";
import type { NoteAhead } from "./note-ahead.ts";
import { type PendingNote, readPending, writePending } from "./pending-note.ts";
import { beingReleased, LOCK_WAIT_MS, pendingLockOf } from "./pending-release.ts";

/** No namespace must be gone before the release: our interface is known to be gone. */
const NOTHING: Pick<PendingNote, "path" | "id"> = { path: "", id: "" };

/**
 * Undoes a step of an ADD, unless a newer ADD has the attachment: that ADD may now have the same addresses. An ADD that begins meanwhile waits.
 *
 * @throws NetplugError tryAgainLater when it is not known who has the attachment, or other calls hold the lock too long; what `work` throws
 */
export async function unlessTaken(call: LocalCall, hold: Hold, work: () => Promise<void>): Promise<void> {
  if (hold.state() === "unknown")
    throw new NetplugError("tryAgainLater", "tell whether a newer ADD has them: nothing is noted on the node");
  const isLate = hold.isSent && hasOwnIpam(call);
  if (!hasNodeFile(call, "unreleased"))
    writePending(call, { ...NOTHING, until: isLate ? call.host.clock.now() + LONGEST_ADD_MS : 0, addresses: [] });
  using lock = await call.host.takeLock(pendingLockOf(call), LOCK_WAIT_MS);
  if (lock === undefined) throw beingReleased(call);
  const isTaken = hold.state() === "taken";
  if (!isTaken) await work();
  // What arrives after this is for a later DEL.
  if (isTaken || !isLate) removeNodeFile(call, "unreleased");
}

/**
 * Leaves to a later DEL what a DEL could not release, whatever the reason: the runtime may not repeat it when the reason has passed. Nothing
 * after a damaged block, without which the same call tries again.
 *
 * @param reason why it was not released
 * @param holder the plugin that held the attachment, if that is known
 * @param note the DEL's own, in whose place the pending release comes
 */
export function leavePending(call: Call, reason: unknown, holder: string | undefined, note?: NoteAhead): void {
  if (call.isWithoutDamaged === true || !(reason instanceof CorruptBlock)) notePending(call, holder, note);
  else note?.forget();
}

/**
 * Notes on the node that a DEL could not release its addresses. When the interface may be another main plugin's, we cannot see whether it
 * is gone, but we can see whether its namespace is.
 */
export function notePending(call: LocalCall, holder: string | undefined, note?: NoteAhead): void {
  attempt(call, () => {
    const condition = call.plugin === "netplug" && holder === "netplug" ? NOTHING : conditionOf(call, holder);
    if (condition === undefined) return;
    const until = note?.until();
    // Its own is replaced in one step: the DEL may be killed at any moment.
    const there = until === undefined ? readPending(call, call.environment) : undefined;
    // A note about another namespace stays: the addresses may still be in use there.
    if (there !== undefined && there.path !== condition.path) return;
    const { prevResult } = call.config;
    const addresses = prevResult === undefined ? (there?.addresses ?? []) : addressesOf(prevResult).map(({ address }) => address);
    writePending(call, { ...condition, until: until ?? there?.until ?? 0, addresses });
  });
}

/** Which namespace must be gone before the release; undefined: nobody could tell when the addresses are free. */
function conditionOf(
  { plugin, environment: { netns: path = "", ifName }, host: { kernel, files } }: LocalCall,
  holder: string | undefined,
): Pick<PendingNote, "path" | "id"> | undefined {
  const isMain = plugin === "netplug";
  let netns: Netns | undefined;
  try {
    netns = kernel.openNetns(path);
  } catch {
    return undefined;
  }
  if (netns === undefined) return isMain && isFolderOfGone(files, path) ? NOTHING : undefined;
  using existing = netns;
  if (isMain && holder === undefined && !hasInterface(kernel, existing, ifName)) return NOTHING;
  return { path: existing.path, id: existing.id };
}

function hasInterface(kernel: Kernel, netns: Netns, name: string): boolean {
  using pod = kernel.openRouteSocket(netns);
  return findLink(pod, { name }) !== undefined;
}
