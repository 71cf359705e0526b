/**
 * Pending releases. A runtime should repeat a DEL that fails; containerd 2 does not when the container's ADD has failed as well. Then
 * nobody else knows of the addresses, so the call leaves a file on the node, and the network's next DEL releases them.
 *
 * Each attachment has its own file. It says what must be gone before the release: nothing, when our interface was removed; else the network
 * namespace, because under another main plugin only that plugin knows the interface. If a file gets lost, GC releases the addresses. A
 * releasing call writes the file, then looks who holds the attachment (`hold.ts`); an ADD takes hold, then looks for the file: so one of the
 * two sees the other. `pending-note.ts`, which few calls load, reads and writes the file.
 */

import { NetplugError } from "../../lib/errors.ts";
import { quote } from "../../lib/quote.ts";
import type { LocalCall } from "../call.ts";
import { folderOf, hasNodeFile, removeNodeFile } from "./node-files.ts";

/** Milliseconds; a DEL takes less for its pending releases. */
export const LOCK_WAIT_MS = 5_000;

/**
 * Cancels the pending release of an attachment that an ADD has taken hold of. The ADD calls this before it reads what is allocated, which
 * nobody may release from then on. Waits for a release that is running.
 *
 * @throws NetplugError tryAgainLater when that release takes too long
 */
export async function claimPending(call: LocalCall): Promise<void> {
  if (!hasNodeFile(call, "unreleased")) return;
  using lock = await call.host.takeLock(pendingLockOf(call), LOCK_WAIT_MS);
  if (lock === undefined) throw beingReleased(call);
  removeNodeFile(call, "unreleased");
}

/** For a call that waited in vain for a pending release. */
export function beingReleased(call: LocalCall): NetplugError {
  return new NetplugError("tryAgainLater", `lock ${quote(pendingLockOf(call))}: the addresses of an earlier call are being released`);
}

/** Path of the lock that is held while a pending release is carried out, or cancelled. */
export function pendingLockOf(call: LocalCall): string {
  return `${folderOf(call, "unreleased")}.lock`;
}
