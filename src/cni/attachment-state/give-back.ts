/** Gives back what an ADD that failed had taken, or says that somebody must: see `pending-release.ts`. Loaded where something went wrong. */

import { type ErrorName, NetplugError } from "../../lib/errors.ts";
import type { Files } from "../../lib/ports.ts";
import type { Netns } from "../../linux/netns.ts";
import type { LocalCall } from "../call.ts";
import { findLink } from "../link/find.ts";
import type { Kernel } from "../link/kernel.ts";
import type { Hold } from "./hold.ts";
import { attempt, fileOf, isNameable } from "./node-files.ts";
import { type PendingNote, readPending, writePending } from "./pending-note.ts";
import { beingReleased, LOCK_WAIT_MS, pendingLockOf } from "./pending-release.ts";

/** Failures that end without anybody changing what is stored. */
const PASSING: readonly ErrorName[] = ["tryAgainLater", "accessDenied", "notInitialised"];

/** What must be gone before anything is given back: nothing, where the interface is. */
const NOTHING = { path: "", id: "" } as const;

/**
 * Does a step of an ADD's way back, unless a newer ADD has the attachment, which may have got what this one had taken. One that comes
 * meanwhile waits.
 *
 * @throws NetplugError tryAgainLater when it is not known who has the attachment, or others give back all the time; what `work` throws
 */
export async function unlessTaken(call: LocalCall, hold: Hold, work: () => Promise<void>): Promise<void> {
  const { environment, host } = call;
  if (hold.state() === "unknown")
    throw new NetplugError("tryAgainLater", "tell whether a newer ADD has them: nothing is noted on the node");
  const file = fileOf(call, "unreleased", environment);
  if (!host.files.exists(file)) writePending(call, { ...NOTHING, until: 0 });
  using lock = await host.takeLock(pendingLockOf(call), LOCK_WAIT_MS);
  if (lock === undefined) throw beingReleased(call);
  if (hold.state() !== "taken") await work();
  host.files.remove(file);
}

/**
 * Says on the node that a DEL could not give back its addresses. An interface of another main plugin may stand in the namespace: its end
 * cannot be seen, but that of the namespace can.
 *
 * @param reason why they are not given back
 * @param holder the plugin that held the attachment, if that is known
 */
export function leavePending(call: LocalCall, reason: unknown, holder: string | undefined): void {
  if (!(reason instanceof NetplugError) || !PASSING.includes(reason.kind)) return;
  attempt(call, () => {
    const condition = call.plugin === "netplug" && holder === "netplug" ? NOTHING : conditionOf(call, holder);
    if (condition === undefined) return;
    const there = isNameable(call, call.environment)
      ? readPending(call.host.files, fileOf(call, "unreleased", call.environment))
      : undefined;
    // Of another namespace of the attachment: what that one waits for must be gone too.
    if (there === undefined || there.path === condition.path) writePending(call, { ...condition, until: there?.until ?? 0 });
  });
}

/** What must be gone where the interface may be another main plugin's; undefined: nothing would tell. */
function conditionOf(
  { plugin, environment: { netns: path = "", ifName }, host: { kernel, files } }: LocalCall,
  holder: string | undefined,
): Omit<PendingNote, "until"> | undefined {
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

/** Whether the place is seen in which the namespace would be. */
export function isFolderOfGone(files: Files, path: string): boolean {
  const end = path.lastIndexOf("/");
  return end > 0 && files.exists(path.slice(0, end));
}
