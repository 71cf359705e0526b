/**
 * Holds that no DEL has ended, because it was killed at its beginning, or never called: containerd calls one DEL after an ADD that failed, and
 * no GC. Each DEL of the network looks for some of them, while the kernel removes its interface.
 */

import type { AttachmentId } from "../../api/ipam-block.ts";
import { attachmentKeyOf } from "../../ipam/request.ts";
import { isMain, type LocalCall } from "../call.ts";
import { listLinksOf } from "../link/leftover-links.ts";
import { isAddOver } from "../attachment-state/add-time.ts";
import { isNetnsGone } from "../attachment-state/gone-netns.ts";
import { type HoldNote, readHold } from "../attachment-state/hold-note.ts";
import { fromRandomOne, listHeld } from "../attachment-state/listed-files.ts";
import { tolerate, hasNodeFile, removeNodeFile } from "../attachment-state/node-files.ts";
import { readPending, writePending } from "../attachment-state/pending-file.ts";

/** A hold of another attachment than the call's. */
interface StaleHold {
  readonly attachment: AttachmentId;
  readonly hold: HoldNote;
}

/**
 * Makes pending releases of holds of the call's network whose ADD must be over, whose namespace is gone, and whose interface, too. One that
 * exists shows that somebody has the namespace, under a name that we do not see, or under none: then the hold stays.
 *
 * @param looks how many holds to look at, from a random one on
 */
export function toPendingOfStaleHolds(call: LocalCall, looks: number): void {
  const stale = listStale(call, looks);
  if (stale.length === 0) return;
  tolerate(call, () => {
    const existing = new Set(listLinksOf(call.host.kernel, call.config.name).map(attachmentKeyOf));
    for (const one of stale) if (!existing.has(attachmentKeyOf(one.attachment))) tolerate(call, () => toPending(call, one));
  });
}

function listStale(call: LocalCall, looks: number): readonly StaleHold[] {
  const own = attachmentKeyOf(call.environment);
  const others = listHeld(call).filter((id) => id.network === call.config.name && attachmentKeyOf(id) !== own);
  const found: StaleHold[] = [];
  for (const attachment of fromRandomOne(call, others).slice(0, looks)) {
    // One that cannot be read must not hide the others.
    tolerate(call, () => {
      const hold = readHold(call, attachment);
      if (hold !== undefined && isStale(call, hold)) found.push({ attachment, hold });
    });
  }
  return found;
}

/** @throws NetplugError ioFailure */
function toPending(call: LocalCall, { attachment, hold: { path, id, takenAt } }: StaleHold): void {
  if (!hasNodeFile(call, "unreleased", attachment)) writePending(call, { path, id, until: 0, addresses: [] }, attachment);
  // Without the hold nothing would be known of the attachment any more.
  if (readPending(call, attachment) === undefined) return;
  // An earlier pending release keeps its own condition. An ADD that takes hold from now on finds one or the other.
  if (readHold(call, attachment)?.takenAt === takenAt) removeNodeFile(call, "attached", attachment);
}

function isStale(call: LocalCall, hold: HoldNote): boolean {
  return isMain(hold.plugin) && hold.id !== "" && isAddOver(call, hold) && isNetnsGone(call.host, hold.path);
}
