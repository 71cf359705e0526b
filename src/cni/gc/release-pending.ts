/** Pending releases, carried out by a DEL of the same network: see `attachment-state/pending-release.ts`. Loaded only where one was ever noted. */

import type { DelRequest } from "../../endpoint/plan-del.ts";
import { attachmentKeyOf } from "../../ipam/gc.ts";
import { LONGEST_ADD_MS } from "../../ipam/longest-add.ts";
import type { Attachment } from "../../ipam/request.ts";
import { messageOf } from "../../lib/errors.ts";
import { randomInteger } from "../../lib/random.ts";
import { isNetnsGone } from "../attachment-state/gone-netns.ts";
import { readHold } from "../attachment-state/hold.ts";
import { fromFileName } from "../attachment-state/listed-files.ts";
import { attempt, folderOf, removeNodeFile } from "../attachment-state/node-files.ts";
import { type PendingNote, readPending } from "../attachment-state/pending-note.ts";
import { pendingLockOf } from "../attachment-state/pending-release.ts";
import type { Call, LocalCall } from "../call.ts";
import { settle, type Settled, throwFirstFailure } from "../failures.ts";
import { listLinksOf } from "../link/leftover-links.ts";
import { withdrawElsewhere } from "../withdraw-elsewhere.ts";
import { settleTogether } from "./settle-together.ts";
import { ATTACHMENTS_PER_COMMIT, attachmentOf, withdrawAll } from "./withdraw-many.ts";

/** The most pending releases that one DEL carries out. */
const MAX_RELEASES = 48;
/** Milliseconds for all of them. */
const PENDING_MS = 3_000;

/** An attachment whose release can be carried out. */
type Ended = Attachment & Pick<PendingNote, "addresses">;

/** Whether there are pending releases that can be carried out now. */
export function hasPending(call: LocalCall): boolean {
  let isAny = false;
  attempt(call, () => {
    isAny = listPending(call).length > 0;
  });
  return isAny;
}

/**
 * Carries out pending releases of the call's network, some at a time; does nothing while another call does. Releases that failed, or for which
 * there was no time, stay pending. A failure is only logged: the DEL that does this is done.
 */
export async function releasePending(call: Call): Promise<void> {
  const released = await settle(async () => {
    using lock = await call.host.takeLock(pendingLockOf(call), 0);
    const pending = lock === undefined ? [] : listPending(call);
    if (pending.length === 0) return;
    await collectEnded({ ...call, deadline: call.deadline.within(PENDING_MS) }, pending, (done) => {
      for (const attachment of done) removeNodeFile(call, "unreleased", attachment);
    });
  });
  if (!released.ok) call.log.info("cannot release what earlier calls left", { reason: messageOf(released.error) });
}

/**
 * Removes what the datastore still has of ended attachments, except those whose interface exists: the kernel may be about to end it with its
 * namespace. Works on some at a time, so that after a failure the next DEL has less to do: on one, which is done in time also where the
 * datastore is slow, then each time on twice as many.
 *
 * @param onCollected gets the attachments that are done, before the next ones are tried
 * @throws the first failure; after several of which all failed, the rest is not tried
 */
async function collectEnded(call: Call, ended: readonly Ended[], onCollected: (some: readonly Ended[]) => void): Promise<void> {
  const existing = new Set(listLinksOf(call.host.kernel, call.config.name).map(attachmentKeyOf));
  const gone = ended.filter((attachment) => !existing.has(attachmentKeyOf(attachment)));
  const collect = async (some: readonly Ended[]): Promise<void> => {
    const found = await withdrawAll(call, new Set(some.map(attachmentKeyOf)), []);
    await collectElsewhere(
      call,
      some.filter((attachment) => !found.has(attachmentKeyOf(attachment))),
    );
  };
  const steps: Settled[] = [];
  for (let from = 0, count = 1; from < gone.length; from += count, count = Math.min(2 * count, ATTACHMENTS_PER_COMMIT)) {
    const outcomes = await settleTogether(gone.slice(from, from + count), collect);
    steps.push(...outcomes);
    onCollected(outcomes.flatMap(({ ok, item }) => (ok ? [item] : [])));
    if (count > 1 && outcomes.every(({ ok }) => !ok)) break;
  }
  throwFirstFailure(steps);
}

/** Releases what the node got under another name, as far as the notes say. */
async function collectElsewhere(call: Call, some: readonly Ended[]): Promise<void> {
  const { config, node } = call;
  const keys = new Set(some.map(attachmentKeyOf));
  const request: DelRequest = {
    node,
    isTargetOwner: (owner) => owner.network === config.name && keys.has(attachmentKeyOf(owner)),
    isTargetRecord: (record) => (record.spec.network ?? config.name) === config.name && keys.has(attachmentKeyOf(attachmentOf(record))),
    records: [],
  };
  const addresses = some.flatMap((one) => one.addresses);
  await withdrawElsewhere(call, addresses, request);
}

/**
 * At most {@link MAX_RELEASES} ended attachments of the call's network. Begins at a random place, so that releases that always fail do not keep the
 * others from their turn.
 */
function listPending(call: LocalCall): readonly Ended[] {
  const found: Ended[] = [];
  const names = call.host.files.list(folderOf(call, "unreleased")) ?? [];
  const first = randomInteger(call.host.random, names.length);
  for (const name of [...names.slice(first), ...names.slice(0, first)]) {
    const attachment = fromFileName(call, name);
    if (attachment === undefined) continue;
    // One that cannot be read must not hide the others.
    attempt(call, () => {
      const note = readPending(call, attachment);
      if (note !== undefined && isOver(call, attachment, note)) found.push({ ...attachment, addresses: note.addresses });
    });
    if (found.length === MAX_RELEASES) break;
  }
  return found;
}

/** Whether nobody can use the addresses any more, but for an interface that still exists. */
function isOver(call: LocalCall, attachment: Attachment, { path, until, id }: PendingNote): boolean {
  const holder = readHold(call, attachment);
  if (holder !== undefined && (path === "" || holder.path !== path || holder.id !== id)) return false;
  if (path === "") return true;
  const leftMs = until - call.host.clock.now();
  // If more is left than an ADD can take, the clock was set back: do not wait.
  if (leftMs > 0 && leftMs <= LONGEST_ADD_MS) return false;
  return isNetnsGone(call.host, path);
}
