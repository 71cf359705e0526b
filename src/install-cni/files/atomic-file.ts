/** Files that others may read at any moment: they see the old one or the new one, even after a crash of ours or of the machine. */

import { messageOf, NetplugError, orNothing } from "../../lib/errors.ts";
import { quote } from "../../lib/quote.ts";
import { describeType, isLink } from "../../linux/file-type.ts";
import type { FileStat } from "../../linux/stat.ts";
import type { InstallHost } from "../host.ts";
import type { DurableFiles } from "./durable-files.ts";

/** Ends the name of a file that is being made: no runtime takes it for a config, and whoever holds the folder's lock may remove it. */
const TEMPORARY = ".netplug-tmp";

/** A file that is to be put in its place. */
interface NewFile {
  readonly path: string;
  /** Makes it under the name that it is given. */
  readonly make: (temporary: string) => void;
}

/**
 * Makes a file under a temporary name, then renames it to its own: onto a file or a symbolic link, never onto a device or anything else.
 *
 * @param make makes the file under the name that it is given
 * @throws NetplugError ioFailure naming target and reason; nothing is left behind
 */
export function putAtomically(disk: DurableFiles, path: string, make: (temporary: string) => void): void {
  putTogether(disk, splitPath(path).folder, [{ path, make }]);
}

/** Puts files of one folder in their places right after each other, once all of them are made. */
function putTogether(disk: DurableFiles, folder: string, files: readonly NewFile[]): void {
  for (const { path } of files) requireReplaceable(disk, path);
  let current = folder;
  try {
    for (const { path, make } of files) {
      current = path;
      // Not every file lies in a folder that was locked, and so cleared, before.
      disk.remove(temporaryOf(path));
      make(temporaryOf(path));
    }
    for (const { path } of files) {
      current = path;
      disk.rename(temporaryOf(path), path);
    }
    disk.flushFolder(folder);
  } catch (cause) {
    for (const { path } of files) tryRemove(disk, temporaryOf(path));
    throw new NetplugError("ioFailure", `install ${quote(current)}: ${messageOf(cause)}`, { cause });
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

/**
 * As {@link writeDurably}, of files of one folder that belong together: who reads one and then another meets old and new ones for microseconds
 * only, and those that do not fit on the disk leave all as they were.
 *
 * @param texts by name
 * @returns names of those that were something else before
 * @throws NetplugError ioFailure
 */
export function writeTogether(
  host: Pick<InstallHost, "disk" | "userId">,
  folder: string,
  texts: Readonly<Record<string, string>>,
  permissions: number,
): readonly string[] {
  const { disk } = host;
  const stale = Object.entries(texts).filter(([name, text]) => !isWritten(host, `${folder}/${name}`, text, permissions));
  const toFile = ([name, text]: readonly [string, string]): NewFile => ({
    path: `${folder}/${name}`,
    make: (temporary) => disk.create(temporary, text, permissions),
  });
  if (stale.length > 0) putTogether(disk, folder, stale.map(toFile));
  return stale.map(([name]) => name);
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
 * Whether nothing is there, or what nobody writes as that file: one without content, which a crash of the machine may leave, or what is neither
 * a file nor a symbolic link, such as a folder that a mistaken mount makes. That stays: whoever puts the file there fails, and says so.
 */
export function isGone(disk: Pick<DurableFiles, "statLink">, path: string): boolean {
  const facts = disk.statLink(path);
  return facts === undefined || !(isLink(facts) || (facts.isRegular && facts.sizeBytes > 0));
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
  // Of a folder the kernel would say so only once a hundred megabytes were copied, every ten seconds.
  const there = orNothing(() => disk.statLink(path));
  if (there !== undefined && !isLink(there)) requireFile(path, there);
}

/** The first failure is what counts; whoever locks the folder next tries again. */
function tryRemove(disk: DurableFiles, path: string): void {
  try {
    disk.remove(path);
  } catch {
    // Most likely for the same reason.
  }
}

function temporaryOf(path: string): string {
  const { folder, name } = splitPath(path);
  return `${folder}/.${name}${TEMPORARY}`;
}

function splitPath(path: string): { readonly folder: string; readonly name: string } {
  const slash = path.lastIndexOf("/");
  return { folder: slash < 0 ? "." : path.slice(0, slash) || "/", name: path.slice(slash + 1) };
}
