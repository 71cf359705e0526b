/** The end of a pending release that an ADD has claimed, and the lock under which it is either cancelled or carried out. */

import { NetplugError } from "../../lib/errors.ts";
import { quote } from "../../lib/quote.ts";
import type { Hold } from "../attachment-state/hold.ts";
import { folderOf, removeNodeFile, tolerate } from "../attachment-state/node-files.ts";
import type { LocalCall } from "../call.ts";
import { mayArrive, readPending } from "./pending-file.ts";

/** Milliseconds; a DEL takes less for its pending releases. */
const LOCK_WAIT_MS = 5_000;

/** @see claimPending */
export async function cancelPending(call: LocalCall, hold: Hold, writeOwn?: () => void): Promise<void> {
  using _lock = await waitForPendingLock(call);
  // What an earlier ADD has sent is looked for after this one, unless this one's own commit changes the same blocks.
  tolerate(call, () => {
    const pending = readPending(call, call.environment);
    if (pending !== undefined && mayArrive(call, pending.until)) hold.isCommitUnderWay = true;
  });
  let isReplaced = false;
  tolerate(call, () => {
    writeOwn?.();
    isReplaced = writeOwn !== undefined;
  });
  if (!isReplaced) removeNodeFile(call, "unreleased");
}

/** @throws NetplugError tryAgainLater when other calls hold the lock too long */
export async function waitForPendingLock(call: LocalCall): Promise<Disposable> {
  const path = pendingLockOf(call);
  const lock = await call.host.takeLock(path, LOCK_WAIT_MS);
  if (lock !== undefined) return lock;
  throw new NetplugError("tryAgainLater", `lock ${quote(path)}: the addresses of an earlier call are being released`);
}

/** Path of the lock that is held while a pending release is carried out, or cancelled. */
export function pendingLockOf(call: LocalCall): string {
  return `${folderOf(call, "unreleased")}.lock`;
}
