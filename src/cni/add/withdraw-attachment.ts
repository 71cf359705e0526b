/** A failed ADD takes back what it has recorded. Loaded only after a failure. */

import { startDeadline } from "../../lib/deadline.ts";
import type { Address } from "../../lib/ip/address.ts";
import type { Hold } from "../attachment-state/hold.ts";
import { toDelRequest } from "../call-requests.ts";
import { type Call, UNDO_MS } from "../call.ts";
import { unlessTaken } from "../pending-release/after-failed-add.ts";
import { withdraw } from "../withdraw/withdraw.ts";

/** What a failed ADD takes back of its attachment's addresses. */
export interface Taken {
  /** Those that it may have taken: the attachment did not have them before. */
  readonly addresses: readonly Address[];
  /** Whether it is all that the attachment has, by whomever it was taken. */
  readonly isAll: boolean;
}

/**
 * Reads and removes what was taken, and the attachment's record, unless a newer ADD has taken the attachment.
 *
 * @throws {NetplugError}
 */
export async function withdrawAttachment(call: Call, hold: Hold, { addresses, isAll }: Taken): Promise<void> {
  const undoing = { ...call, deadline: startDeadline(call.host.clock, UNDO_MS) };
  await unlessTaken(undoing, hold, async () => {
    await withdraw(undoing, { ...toDelRequest(undoing), addresses: isAll ? undefined : addresses });
  });
}
