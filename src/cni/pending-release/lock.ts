/** The lock of the node under which pending releases are carried out, or one is cancelled. */

import { NetplugError } from "../../lib/errors.ts";
import { quote } from "../../lib/quote.ts";
import { folderOf } from "../attachment-state/node-files.ts";
import type { LocalCall } from "../call.ts";

/** Milliseconds; a DEL takes less for its pending releases. */
const LOCK_WAIT_MS = 5_000;

/** @throws NetplugError tryAgainLater when other calls hold the lock too long */
export async function waitForPendingLock(call: LocalCall): Promise<Disposable> {
  const path = pendingLockOf(call);
  const lock = await call.host.takeLock(path, LOCK_WAIT_MS);
  if (lock !== undefined) return lock;
  throw new NetplugError("tryAgainLater", `lock ${quote(path)}: the addresses of an earlier call are being released`);
}

/** Its path. */
export function pendingLockOf(call: LocalCall): string {
  return `${folderOf(call, "unreleased")}.lock`;
}
