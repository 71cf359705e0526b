/** Files that others read at any moment: they see the old one or the new one, also after a crash of ours or of the machine. */

import { messageOf, NetplugError } from "../lib/errors.ts";
import { quote } from "../lib/quote.ts";
import type { DurableFiles, InstallHost } from "./host.ts";

/** No runtime reads a config of this kind. Whoever holds the folder's lock knows that files of this kind are nobody's any more. */
const TEMPORARY = ".netplug-tmp";

/** How long another installer may be at work in a folder: it copies 100 MB at most. */
const LOCK_WAIT_MS = 60_000;
const LOCK_LOOK_EVERY_MS = 50;

/**
 * Makes a file under another name and puts it in its place in one step.
 *
 * @param make gets the name under which it makes the file
 * @throws NetplugError ioFailure naming the target and what stops us; nothing is left behind then
 */
export function putWhole(disk: DurableFiles, path: string, make: (temporary: string) => void): void {
  const { folder, name } = splitPath(path);
  const temporary = `${folder}/.${name}${TEMPORARY}`;
  try {
    // Not every file lies in a folder that {@link inFolder} has cleared.
    disk.remove(temporary);
    make(temporary);
    disk.rename(temporary, path);
    disk.flushFolder(folder);
  } catch (cause) {
    tryRemove(disk, temporary);
    throw new NetplugError("ioFailure", `install ${quote(path)}: ${messageOf(cause)}`, { cause });
  }
}

/**
 * Brings a file to this content, these permissions and us as its owner.
 *
 * @returns whether it was something else before
 * @throws NetplugError ioFailure
 */
export function writeWhole(
  { disk, userId }: Pick<InstallHost, "disk" | "userId">,
  path: string,
  content: string,
  permissions: number,
): boolean {
  const facts = disk.statLink(path);
  const isRight = facts?.isRegular === true && facts.permissions === permissions && facts.owner === userId;
  if (isRight && disk.readText(path) === content) return false;
  putWhole(disk, path, (temporary) => disk.create(temporary, content, permissions));
  return true;
}

/**
 * Works in a folder while no other installer does, and takes away first what one that was killed has left.
 *
 * @param below folders that are worked in too; they need not be there
 * @throws NetplugError tryAgainLater when another one is at work all the time, ioFailure
 */
export async function inFolder<T>(
  host: Pick<InstallHost, "clock" | "disk" | "stopped">,
  folder: string,
  work: () => T,
  below: readonly string[] = [],
): Promise<T> {
  const { clock, disk, stopped } = host;
  const end = clock.monotonic() + LOCK_WAIT_MS;
  for (;;) {
    using lock = disk.tryLockFolder(folder);
    if (lock !== undefined) {
      for (const one of [folder, ...below]) removeLeftovers(disk, one);
      return work();
    }
    if (clock.monotonic() >= end) {
      throw new NetplugError(
        "tryAgainLater",
        `lock ${quote(folder)}: another installer has been at work there for ${LOCK_WAIT_MS / 1000} s`,
      );
    }
    await clock.sleep(LOCK_LOOK_EVERY_MS, stopped);
  }
}

/** Whether an installer was killed in this folder, or is at work there. */
export function hasLeftovers(disk: Pick<DurableFiles, "list">, folder: string): boolean {
  return disk.list(folder)?.some(isTemporary) === true;
}

function removeLeftovers(disk: DurableFiles, folder: string): void {
  for (const name of disk.list(folder) ?? []) if (isTemporary(name)) disk.remove(`${folder}/${name}`);
}

function isTemporary(name: string): boolean {
  return name.endsWith(TEMPORARY);
}

/** What failed before is what counts; whoever locks the folder next tries again. */
function tryRemove(disk: DurableFiles, path: string): void {
  try {
    disk.remove(path);
  } catch {
    // Said by the failure that brought us here, in all likelihood.
  }
}

function splitPath(path: string): { readonly folder: string; readonly name: string } {
  const slash = path.lastIndexOf("/");
  return { folder: slash < 0 ? "." : path.slice(0, slash), name: path.slice(slash + 1) };
}
