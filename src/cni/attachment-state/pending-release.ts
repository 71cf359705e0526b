/**
 * Releases that are pending: what calls may leave allocated with nobody to call DEL for it again stands on the node, for the next DEL of
 * its network to give back. A runtime should repeat a DEL that fails. containerd 2 does not when the container's ADD has failed as well,
 * and then nobody else knows of these addresses.
 *
 * Each is a file that is named after the attachment. In it stands what must be gone before anything is given back: nothing, when it was
 * our interface, which is gone; or the path of the network namespace, for under another main plugin only that plugin knows the interface. A
 * file may get lost, then GC does its work. Whoever gives back writes it first and looks then who holds the attachment (`hold.ts`); an ADD
 * takes hold first and looks for the file then. How it is written: `pending-note.ts`, which few calls load.
 */

import { NetplugError } from "../../lib/errors.ts";
import { quote } from "../../lib/quote.ts";
import type { LocalCall } from "../call.ts";
import { attempt, fileOf, folderOf, isNameable } from "./node-files.ts";

/** Milliseconds, longer than a DEL takes for them. */
export const LOCK_WAIT_MS = 5_000;

/** Whether there ever was such a file. */
export function wasEverPending(call: LocalCall): boolean {
  let isThere = false;
  attempt(call, () => {
    isThere = call.host.files.exists(folderOf(call, "unreleased"));
  });
  return isThere;
}

/**
 * Takes a pending release away, for an ADD that has taken hold of its attachment, before it reads what is allocated: that is not to be given
 * back any more. Waits for whoever is about to.
 *
 * @throws NetplugError tryAgainLater when that takes too long
 */
export async function claimPending(call: LocalCall): Promise<void> {
  const file = fileOf(call, "unreleased", call.environment);
  if (!isNameable(call, call.environment) || !call.host.files.exists(file)) return;
  using lock = await call.host.takeLock(pendingLockOf(call), LOCK_WAIT_MS);
  if (lock === undefined) throw beingReleased(call);
  call.host.files.remove(file);
}

export function beingReleased(call: LocalCall): NetplugError {
  return new NetplugError("tryAgainLater", `lock ${quote(pendingLockOf(call))}: the addresses of an earlier call are being given back`);
}

/** Path of the lock that is held while one is carried out, or taken away. */
export function pendingLockOf(call: LocalCall): string {
  return `${folderOf(call, "unreleased")}.lock`;
}
