/** DEL's care for others: it gives back what calls of its network left, see `attachment-state/pending-release.ts`. Loaded where there ever was such. */

import type { Attachment } from "../../ipam/request.ts";
import { randomInteger } from "../../lib/random.ts";
import { isFolderOfGone } from "../attachment-state/give-back.ts";
import { readHold } from "../attachment-state/hold.ts";
import { attempt, fileOf, folderOf, fromFileName } from "../attachment-state/node-files.ts";
import { LONGEST_ADD_MS, readPending } from "../attachment-state/pending-note.ts";
import { pendingLockOf } from "../attachment-state/pending-release.ts";
import type { Call, LocalCall } from "../call.ts";
import { type Settled, settleTogether, throwFirstFailure } from "../failures.ts";
import { listLinksOf } from "../link/leftover-links.ts";
import { ATTACHMENTS_PER_COMMIT, keyOf, withdrawMany } from "./withdraw-many.ts";

/** What one DEL takes upon itself besides its own. */
const MOST = 48;
/** Milliseconds that it may take. */
const PENDING_MS = 3_000;

/** Whether a DEL has something to give back besides its own. */
export function hasPending(call: LocalCall): boolean {
  let isAny = false;
  attempt(call, () => {
    isAny = listPending(call).length > 0;
  });
  return isAny;
}

/**
 * Gives back what is pending of the call's network, some at a time, unless another call is at it.
 *
 * @throws what keeps some of them; they stay pending, and so do those that there was no time for
 */
export async function releasePending(call: Call): Promise<void> {
  using lock = await call.host.takeLock(pendingLockOf(call), 0);
  if (lock === undefined) return;
  const pending = listPending(call);
  if (pending.length === 0) return;
  await collectEnded({ ...call, deadline: call.deadline.within(PENDING_MS) }, pending, (done) => {
    for (const attachment of done) call.host.files.remove(fileOf(call, "unreleased", attachment));
  });
}

/**
 * Takes from the datastore what is left there of attachments that ended, but of none whose interface stands; some at a time, so that there
 * is less to do for whoever calls again.
 *
 * @param onCollected told of those that are done, before the next ones
 * @throws the first failure; whatever was to come after some that all failed is not tried
 */
async function collectEnded(call: Call, ended: readonly Attachment[], onCollected: (some: readonly Attachment[]) => void): Promise<void> {
  const standing = new Set(listLinksOf(call.host.kernel, call.config.name).map(keyOf));
  const collect = async (some: readonly Attachment[]): Promise<void> => {
    const keys = new Set(some.map(keyOf).filter((key) => !standing.has(key)));
    await withdrawMany(call, [...keys], []);
  };
  const steps: Settled[] = [];
  for (let from = 0; from < ended.length; from += ATTACHMENTS_PER_COMMIT) {
    const outcomes = await settleTogether(ended.slice(from, from + ATTACHMENTS_PER_COMMIT), collect);
    steps.push(...outcomes);
    onCollected(outcomes.flatMap(({ ok, item }) => (ok ? [item] : [])));
    if (outcomes.every(({ ok }) => !ok)) break;
  }
  throwFirstFailure(steps);
}

/**
 * Those of the call's network that are over, not too many at once; beginning anywhere, so that none stays behind those that cannot be given
 * back.
 */
function listPending(call: LocalCall): readonly Attachment[] {
  const found: Attachment[] = [];
  const names = call.host.files.list(folderOf(call, "unreleased")) ?? [];
  const first = randomInteger(call.host.random, names.length);
  for (const name of [...names.slice(first), ...names.slice(0, first)]) {
    const attachment = fromFileName(call, name);
    if (attachment !== undefined && isOver(call, attachment)) found.push(attachment);
    if (found.length === MOST) break;
  }
  return found;
}

/** Whether nobody can use the addresses any more. Who does not see the namespace's folder, or something else in its place, cannot tell. */
function isOver(call: LocalCall, attachment: Attachment): boolean {
  const { files, kernel, clock } = call.host;
  const pending = readPending(files, fileOf(call, "unreleased", attachment));
  if (pending === undefined) return false;
  const { path, until, id } = pending;
  const holder = readHold(call, attachment);
  if (holder !== undefined && (path === "" || holder.path !== path || holder.id !== id)) return false;
  if (path === "") return true;
  const leftMs = until - clock.now();
  // More than an ADD takes: the clock was set back.
  if (leftMs > 0 && leftMs <= LONGEST_ADD_MS) return false;
  try {
    using netns = kernel.openNetns(path);
    return netns === undefined && isFolderOfGone(files, path);
  } catch {
    return false;
  }
}
