/** Files that others may read at any moment: they see the old one or the new one, even after a crash of ours or of the machine. */

import { messageOf, NetplugError, orNothing } from "../../lib/errors.ts";
import { quote } from "../../lib/quote.ts";
import { describeType, isLink } from "../../linux/file-type.ts";
import type { FileStat } from "../../linux/stat.ts";
import type { InstallHost } from "../host.ts";
import type { DurableFiles } from "./durable-files.ts";

/** Ends the name of a file that is being made: no runtime takes it for a config, and whoever holds the folder's lock may remove it. */
const TEMPORARY = ".netplug-tmp";

/**
 * Makes a file under a temporary name, then renames it to its own: onto a file or a symbolic link, never onto a device or anything else.
 *
 * @param make makes the file under the name that it is given
 * @throws NetplugError ioFailure naming target and reason; nothing is left behind
 */
export function putAtomically(disk: DurableFiles, path: string, make: (temporary: string) => void): void {
  requireReplaceable(disk, path);
  const { folder, name } = splitPath(path);
  const temporary = `${folder}/.${name}${TEMPORARY}`;
  try {
    // Not every file lies in a folder that was locked, and so cleared, before.
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
export function writeDurably(host: Pick<InstallHost, "disk" | "userId">, path: string, content: string, permissions: number): boolean {
  if (isWritten(host, path, content, permissions)) return false;
  putAtomically(host.disk, path, (temporary) => host.disk.create(temporary, content, permissions));
  return true;
}

/** Whether a file is as {@link writeDurably} would make it. */
export function isWritten(
  { disk, userId }: Pick<InstallHost, "disk" | "userId">,
  path: string,
  content: string,
  permissions: number,
): boolean {
  const facts = disk.statLink(path);
  const isRight = facts?.isRegular === true && facts.permissions === permissions && facts.owner === userId;
  return isRight && disk.readText(path) === content;
}

/**
 * Whether nothing is there, or what nobody writes as that file: one without content, which a crash of the machine may leave, or a folder, such as
 * a mistaken mount makes. A folder stays: whoever puts the file there fails, and says so.
 */
export function isGone(disk: Pick<DurableFiles, "statLink">, path: string): boolean {
  const facts = disk.statLink(path);
  return facts === undefined || facts.isFolder || (facts.isRegular && facts.sizeBytes === 0);
}

/** Whether a file of this name is one that {@link putAtomically} was making. */
export function isTemporary(name: string): boolean {
  return name.endsWith(TEMPORARY);
}

/**
 * Refuses what a rename would take away although no file belongs there.
 *
 * @param facts of what is there
 * @throws NetplugError ioFailure
 */
export function requireFile(path: string, facts: FileStat): void {
  if (facts.isRegular) return;
  throw new NetplugError("ioFailure", `install ${quote(path)}: ${describeType(facts)} is there, want a file or nothing`);
}

function requireReplaceable(disk: DurableFiles, path: string): void {
  const there = orNothing(() => disk.statLink(path));
  // A folder is refused by the kernel.
  if (there !== undefined && !isLink(there) && !there.isFolder) requireFile(path, there);
}

/** The first failure is what counts; whoever locks the folder next tries again. */
function tryRemove(disk: DurableFiles, path: string): void {
  try {
    disk.remove(path);
  } catch {
    // Most likely for the same reason.
  }
}

function splitPath(path: string): { readonly folder: string; readonly name: string } {
  const slash = path.lastIndexOf("/");
  return { folder: slash < 0 ? "." : path.slice(0, slash), name: path.slice(slash + 1) };
}
