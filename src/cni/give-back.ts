/** Gives back what earlier calls left: see `unreleased.ts`. Loaded where there ever was a note. */

import { randomInteger } from "../lib/random.ts";
import type { Call, LocalCall } from "./call.ts";
import {
  attempt,
  fileOf,
  folderOf,
  lockOf,
  LONGEST_ADD_MS,
  type NotedAttachment,
  readNote,
  readOwn,
  SEPARATOR,
  writeOwn,
} from "./unreleased.ts";

/** What one DEL takes upon itself besides its own. */
const MOST = 48;
/** Milliseconds that it may take. */
const NOTED_MS = 3_000;

/** Whether a DEL has something to give back besides its own. */
export function hasUnreleased(call: LocalCall): boolean {
  let isAny = false;
  attempt(call, () => void (isAny = listUnreleased(call).length > 0));
  return isAny;
}

/** How what is noted is given back. */
export interface ReleaseOptions {
  /** Milliseconds to wait for another call that is at it. */
  readonly waitMs: number;
  /** Whether the call is an ADD at its end, which nobody waits for any more. */
  readonly isAddOver: boolean;
}

/**
 * Gives back what is noted of the call's network, some at a time, unless another call is at it.
 *
 * @throws what keeps some of them; they stay noted, and so do those that there was no time for
 */
export async function releaseUnreleased(call: Call, { waitMs, isAddOver }: ReleaseOptions): Promise<void> {
  using turn = await call.host.takeTurn(lockOf(call), waitMs);
  if (turn === undefined) return;
  const own = isAddOver ? readOwn(call) : undefined;
  // Not that of the attachment's next namespace.
  if (own !== undefined && own.path === call.environment.netns) writeOwn(call, { ...own, until: 0, token: "" });
  const noted = listUnreleased(call);
  if (noted.length === 0) return;
  const { collectAttachments } = await import("./gc.ts");
  await collectAttachments({ ...call, deadline: call.deadline.within(NOTED_MS) }, noted, (done) => {
    for (const attachment of done) call.host.files.remove(fileOf(call, attachment));
  });
}

/** Those of the call's network that are over, not too many at once; beginning anywhere, so that none stays behind those that cannot be given back. */
function listUnreleased(call: LocalCall): readonly NotedAttachment[] {
  const folder = folderOf(call);
  const begin = `${call.config.name}${SEPARATOR}`;
  const found: NotedAttachment[] = [];
  const names = call.host.files.list(folder) ?? [];
  const first = randomInteger(call.host.random, names.length);
  for (const name of [...names.slice(first), ...names.slice(0, first)]) {
    if (!name.startsWith(begin) || name.endsWith(".tmp")) continue;
    const end = name.indexOf(SEPARATOR, begin.length);
    if (end < 0) continue;
    if (isOver(call, `${folder}/${name}`)) found.push({ containerID: name.slice(begin.length, end), ifName: name.slice(end + 1) });
    if (found.length === MOST) break;
  }
  return found;
}

/** Whether nobody can use the addresses any more. Who does not see the namespace's folder, or something else in its place, cannot tell. */
function isOver({ host: { files, kernel, clock } }: LocalCall, file: string): boolean {
  const note = readNote(files, file);
  if (note === undefined) return false;
  const { path, until } = note;
  if (path === "") return true;
  const leftMs = until - clock.now();
  // More than an ADD takes: the clock was set back.
  if (leftMs > 0 && leftMs <= LONGEST_ADD_MS) return false;
  try {
    using netns = kernel.openNetns(path);
    return netns === undefined && files.exists(path.slice(0, path.lastIndexOf("/")));
  } catch {
    return false;
  }
}
