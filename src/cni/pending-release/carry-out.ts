/** A DEL carries out the pending releases of its network. Loaded only if the node has one. */

import type { AttachmentId } from "../../api/ipam-block.ts";
import type { DelRequest } from "../../endpoint/plan-del.ts";
import { type RecordQuery, recordQueryOf } from "../../endpoint/record.ts";
import { attachmentKeyOf } from "../../ipam/request.ts";
import { messageOf } from "../../lib/errors.ts";
import { isNetnsGone } from "../attachment-state/gone-netns.ts";
import { type HoldNote, readHold } from "../attachment-state/hold-note.ts";
import { fromFileName, fromRandomOne } from "../attachment-state/listed-files.ts";
import { tolerate, folderOf, removeNodeFile } from "../attachment-state/node-files.ts";
import { mayArrive, type PendingRelease, readPending } from "../attachment-state/pending-file.ts";
import type { Call, LocalCall } from "../call.ts";
import { settle, type Settled, throwFirstFailure } from "../failures.ts";
import { listLinksOf } from "../link/leftover-links.ts";
import { attachmentOf, isOfOwnNetwork } from "../withdraw/own-records.ts";
import { settleBatch } from "../withdraw/settle-batch.ts";
import { withdrawElsewhere } from "../withdraw/withdraw-elsewhere.ts";
import { ATTACHMENTS_PER_COMMIT, withdrawBatch } from "../withdraw/withdraw-many.ts";
import { pendingLockOf } from "./lock.ts";

/** The most pending releases that one DEL carries out. */
const MAX_RELEASES = 48;
/** Milliseconds for all of them. */
const PENDING_MS = 3_000;

/** A pending release that can be carried out now: nobody uses the attachment any more. */
interface DueRelease extends AttachmentId, Pick<PendingRelease, "addresses" | "pod"> {
  /** Whether a later DEL must look again: a commit that was sent before may arrive yet. */
  readonly mayArrive: boolean;
  /** When its ADD took the hold that still stands, in a namespace that is gone; undefined: none stands. */
  readonly heldSince: number | undefined;
}

/** Whether there are pending releases that can be carried out now. */
export function isAnyDue(call: LocalCall): boolean {
  return tolerate(call, () => listDue(call).length > 0) ?? false;
}

/**
 * Carries out pending releases of the call's network; does nothing while another call does so. Releases that fail, or for which there is no
 * time, stay pending. A failure is only logged, because this DEL has already done its own work.
 */
export async function carryOutPending(call: Call): Promise<void> {
  const released = await settle(async () => {
    using lock = await call.host.takeLock(pendingLockOf(call), 0);
    const due = lock === undefined ? [] : listDue(call);
    if (due.length > 0) await releaseDue({ ...call, deadline: call.deadline.within(PENDING_MS) }, due);
  });
  if (!released.ok) call.log.info("cannot release what earlier calls left", { reason: messageOf(released.error) });
}

/**
 * Removes what the datastore still has of the attachments, and the files of those that are done. Leaves those whose interface exists: the kernel
 * may be about to remove it with its namespace. Works in batches, so that after a failure the next DEL has less to do. The first batch is one
 * attachment, which even a slow datastore does in time; each further batch is twice as large.
 *
 * @throws the first failure; once all of a batch have failed, no further batch is tried
 */
async function releaseDue(call: Call, due: readonly DueRelease[]): Promise<void> {
  const existing = new Set(listLinksOf(call.host.kernel, call.config.name).map(attachmentKeyOf));
  const gone = due.filter((attachment) => !existing.has(attachmentKeyOf(attachment)));
  const release = async (batch: readonly DueRelease[]): Promise<void> => {
    const found = await withdrawBatch(call, batch, recordsOf(call, batch));
    await releaseElsewhere(
      call,
      batch.filter((attachment) => !found.has(attachmentKeyOf(attachment))),
    );
  };
  const steps: Settled[] = [];
  for (let from = 0, count = 1; from < gone.length; from += count, count = Math.min(2 * count, ATTACHMENTS_PER_COMMIT)) {
    const outcomes = await settleBatch(gone.slice(from, from + count), release);
    steps.push(...outcomes);
    for (const { ok, item } of outcomes) if (ok && !item.mayArrive) removeFilesOf(call, item);
    if (count > 1 && outcomes.every(({ ok }) => !ok)) break;
  }
  throwFirstFailure(steps);
}

/** Also the hold, unless an ADD has taken it since: where the ADD of `netplug-ipam` was killed, nobody may be left who would call the DEL that ends it. */
function removeFilesOf(call: Call, attachment: DueRelease): void {
  const { heldSince } = attachment;
  if (heldSince !== undefined && readHold(call, attachment)?.takenAt === heldSince) removeNodeFile(call, "attached", attachment);
  removeNodeFile(call, "unreleased", attachment);
}

/** Records of pods: there may be no allocation that names them. A record that is a view of its pod ends with the pod. */
function recordsOf({ node, datastore }: Call, batch: readonly DueRelease[]): readonly RecordQuery[] {
  if (datastore.traits.recordsArePods) return [];
  const ofPods = batch.filter(({ pod }) => pod !== undefined);
  return ofPods.map(({ containerID, ifName, pod }) => recordQueryOf({ node, workload: { containerID, ifName, pod }, labels: {} }));
}

/** Releases what the node allocated under a former name, as far as the pending releases name the addresses. */
async function releaseElsewhere(call: Call, batch: readonly DueRelease[]): Promise<void> {
  const { config, node } = call;
  const keys = new Set(batch.map(attachmentKeyOf));
  const request: DelRequest = {
    node,
    isTargetOwner: (owner) => owner.network === config.name && keys.has(attachmentKeyOf(owner)),
    isTargetRecord: (record) => keys.has(attachmentKeyOf(attachmentOf(record))) && isOfOwnNetwork(call, record),
    records: [],
  };
  const addresses = batch.flatMap((attachment) => attachment.addresses);
  await withdrawElsewhere(call, addresses, request);
}

/**
 * At most {@link MAX_RELEASES} due releases of the call's network. Begins at a random one, so that releases that always fail do not hold up
 * the others.
 */
function listDue(call: LocalCall): readonly DueRelease[] {
  const found: DueRelease[] = [];
  const names = call.host.files.list(folderOf(call, "unreleased")) ?? [];
  for (const name of fromRandomOne(call, names)) {
    const attachment = fromFileName(call, name);
    if (attachment === undefined) continue;
    // One that cannot be read must not hide the others.
    tolerate(call, () => {
      const pending = readPending(call, attachment);
      if (pending === undefined) return;
      const hold = readHold(call, attachment);
      if (!isDue(call, pending, hold)) return;
      const { addresses, pod, until } = pending;
      found.push({ ...attachment, addresses, pod, mayArrive: mayArrive(call, until), heldSince: hold?.takenAt });
    });
    if (found.length === MAX_RELEASES) break;
  }
  return found;
}

/** Whether nobody can use the addresses of the attachment any more, unless the interface still exists. */
function isDue(call: LocalCall, { path, until, id }: PendingRelease, hold: HoldNote | undefined): boolean {
  if (hold !== undefined && (path === "" || hold.path !== path || hold.id !== id)) return false;
  return path === "" || (!mayArrive(call, until) && isNetnsGone(call.host, path));
}
