/**
 * Gives back what calls left, and what an ADD that failed had taken: see `unreleased.ts`. Loaded where something went wrong, or there ever
 * was a note.
 */

import { type ErrorName, NetplugError } from "../lib/errors.ts";
import type { Files } from "../lib/ports.ts";
import { randomInteger } from "../lib/random.ts";
import type { Netns } from "../linux/netns.ts";
import type { Call, LocalCall } from "./call.ts";
import { type Hold, readHold } from "./hold.ts";
import type { Kernel } from "./link/kernel.ts";
import { findLink } from "./link/find.ts";
import { attempt, END_OF_PART, fileOf, folderOf, fromFileName, isNameable, type NamedAttachment } from "./node-files.ts";
import { beingReleased, LONGEST_ADD_MS, lockOf, type Note, NOTES_WAIT_MS, writeNote } from "./unreleased.ts";

/** What one DEL takes upon itself besides its own. */
const MOST = 48;
/** Milliseconds that it may take. */
const NOTED_MS = 3_000;

/** Failures that end without anybody changing what is stored. */
const PASSING: readonly ErrorName[] = ["tryAgainLater", "accessDenied", "notInitialised"];

/** What must be gone before anything is given back: nothing, where the interface is. */
const NOTHING = { path: "", id: "" } as const;

/**
 * For the way back of an ADD: does it unless a newer ADD has the attachment, which may have got what this one had taken. One that comes
 * meanwhile waits.
 *
 * @throws NetplugError tryAgainLater when it is not known who has the attachment, or others give back all the time; what `work` throws
 */
export async function unlessTaken(call: LocalCall, hold: Hold, work: () => Promise<void>): Promise<void> {
  const { environment, host } = call;
  if (hold.state() === "unknown")
    throw new NetplugError("tryAgainLater", "tell whether a newer ADD has them: nothing is noted on the node");
  const file = fileOf(call, "unreleased", environment);
  if (!host.files.exists(file)) writeNote(call, { ...NOTHING, until: 0 });
  using turn = await host.takeTurn(lockOf(call), NOTES_WAIT_MS);
  if (turn === undefined) throw beingReleased(call);
  if (hold.state() !== "taken") await work();
  host.files.remove(file);
}

/**
 * Notes the attachment of a DEL that could not give back its addresses. An interface of another main plugin may stand in the namespace,
 * whose end tells that of the interface then; without one nothing would.
 *
 * @param reason why they are not given back
 * @param holder the plugin that held the attachment, if that is known
 */
export function noteUnreleased(call: LocalCall, reason: unknown, holder: string | undefined): void {
  if (!(reason instanceof NetplugError) || !PASSING.includes(reason.kind)) return;
  attempt(call, () => {
    const condition = call.plugin === "netplug" && holder === "netplug" ? NOTHING : conditionOf(call, holder);
    if (condition === undefined) return;
    const there = isNameable(call, call.environment) ? readNote(call.host.files, fileOf(call, "unreleased", call.environment)) : undefined;
    // Of another namespace of the attachment: what that one waits for must be gone too.
    if (there === undefined || there.path === condition.path) writeNote(call, { ...condition, until: there?.until ?? 0 });
  });
}

/** What must be gone where the interface may be another main plugin's; undefined: nothing would tell. */
function conditionOf(
  { plugin, environment: { netns: path = "", ifName }, host: { kernel, files } }: LocalCall,
  holder: string | undefined,
): Omit<Note, "until"> | undefined {
  const isMain = plugin === "netplug";
  let netns: Netns | undefined;
  try {
    netns = kernel.openNetns(path);
  } catch {
    return undefined;
  }
  if (netns === undefined) return isMain && isFolderOfGone(files, path) ? NOTHING : undefined;
  using standing = netns;
  if (isMain && holder === undefined && !hasInterface(kernel, standing, ifName)) return NOTHING;
  return { path: standing.path, id: standing.id };
}

function hasInterface(kernel: Kernel, netns: Netns, name: string): boolean {
  using pod = kernel.openRouteSocket(netns);
  return findLink(pod, { name }) !== undefined;
}

/** Whether a DEL has something to give back besides its own. */
export function hasUnreleased(call: LocalCall): boolean {
  let isAny = false;
  attempt(call, () => void (isAny = listUnreleased(call).length > 0));
  return isAny;
}

/**
 * Gives back what is noted of the call's network, some at a time, unless another call is at it.
 *
 * @throws what keeps some of them; they stay noted, and so do those that there was no time for
 */
export async function releaseUnreleased(call: Call): Promise<void> {
  using turn = await call.host.takeTurn(lockOf(call), 0);
  if (turn === undefined) return;
  const noted = listUnreleased(call);
  if (noted.length === 0) return;
  const { collectAttachments } = await import("./gc.ts");
  await collectAttachments({ ...call, deadline: call.deadline.within(NOTED_MS) }, noted, (done) => {
    for (const attachment of done) call.host.files.remove(fileOf(call, "unreleased", attachment));
  });
}

/**
 * Those of the call's network that are over, not too many at once; beginning anywhere, so that none stays behind those that cannot be given
 * back.
 */
function listUnreleased(call: LocalCall): readonly NamedAttachment[] {
  const found: NamedAttachment[] = [];
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
function isOver(call: LocalCall, attachment: NamedAttachment): boolean {
  const { files, kernel, clock } = call.host;
  const note = readNote(files, fileOf(call, "unreleased", attachment));
  if (note === undefined) return false;
  const { path, until, id } = note;
  const holder = readHold(call, attachment);
  if (holder !== undefined && (path === "" || !holder.startsWith([path, id, ""].join(END_OF_PART)))) return false;
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

/** Whether the place is seen in which the namespace would be. */
function isFolderOfGone(files: Files, path: string): boolean {
  const end = path.lastIndexOf("/");
  return end > 0 && files.exists(path.slice(0, end));
}

function readNote(files: Files, file: string): Note | undefined {
  const text = files.readText(file);
  if (text === undefined) return undefined;
  const [path = "", until = "", id = ""] = text.split(END_OF_PART);
  return { path, until: Number(until), id };
}
