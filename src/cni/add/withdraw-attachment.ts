/** A failed ADD takes back what it has recorded. Loaded only after a failure. */

import type { Address } from "../../lib/ip/address.ts";
import type { Hold } from "../attachment-state/hold.ts";
import { toDelRequest } from "../call-requests.ts";
import { type Call, withUndoDeadline } from "../call.ts";
import { unlessTaken } from "../pending-release/after-failed-add.ts";
import { withdraw } from "../withdraw/withdraw.ts";

/**
 * Reads and removes the attachment's addresses and its record, unless a newer ADD has taken the attachment.
 *
 * @param addresses of its addresses only these
 * @throws {NetplugError}
 */
export async function withdrawAttachment(call: Call, hold: Hold, addresses: readonly Address[] | "all"): Promise<void> {
  const undoing = withUndoDeadline(call);
  await unlessTaken(undoing, hold, async () => {
    await withdraw(undoing, { ...toDelRequest(undoing), addresses: addresses === "all" ? undefined : addresses });
  });
}
