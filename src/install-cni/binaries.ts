/** The executable under the names that a runtime calls it by. */

import type { Log } from "../lib/log/log.ts";
import { isGone, putAtomically } from "./files/atomic-file.ts";
import type { DurableFiles } from "./files/durable-files.ts";
import { hasLeftovers, withFolderLock } from "./files/folder-lock.ts";
import { isFolderWritable, requireWritable } from "./folders.ts";
import type { InstallHost } from "./host.ts";

/** Of the plugin and of its address management, as network configs name them. */
const NAMES = ["netplug", "netplug-ipam"] as const;

/** Everybody may run it, nobody may write it, and it never runs as somebody else. */
const PERMISSIONS = 0o755;

/** One file that is to be put in its place. */
interface BinaryStep {
  readonly path: string;
  /** Another name of this file; undefined: a copy of the executable that runs. */
  readonly linkTo: string | undefined;
}

/** Which executables are ours to place: `SKIP_CNI_BINARIES` and `UPDATE_CNI_BINARIES`. */
interface BinaryChoice {
  /** Names that somebody else takes care of. */
  readonly skipped: readonly string[];
  /** Whether files are replaced that are there and are others. */
  readonly updates: boolean;
}

type Place = Pick<InstallHost, "disk" | "executable" | "userId">;

/** Puts the executable into a folder under its names. @throws NetplugError ioFailure */
export async function placeBinaries(folder: string, choice: BinaryChoice, host: InstallHost, log: Log): Promise<void> {
  const { disk } = host;
  // First without the lock: usually there is nothing to do, and then the folder may be read-only.
  const isDone = planBinaries(folder, choice, host).length === 0;
  if (isDone && !(hasLeftovers(disk, folder) && isFolderWritable(folder, disk))) return;
  requireWritable(folder, disk);
  await withFolderLock(host, folder, () => {
    for (const step of planBinaries(folder, choice, host)) {
      installBinary(step, host);
      log.info("executable installed", { path: step.path });
    }
  });
}

/**
 * What must be done in a folder. The names are hard links of one file: it is large, and one copy stays in the page cache.
 *
 * @returns empty when all is as it should be
 * @throws NetplugError ioFailure
 */
function planBinaries(folder: string, choice: BinaryChoice, place: Place): readonly BinaryStep[] {
  const steps: BinaryStep[] = [];
  /** The file that further names are links to, when it is ours. */
  let base: string | undefined;
  for (const name of NAMES) {
    if (mustStay(folder, name, choice, place.disk)) continue;
    const path = `${folder}/${name}`;
    if (!isInPlace(path, base, steps.length > 0, place)) steps.push({ path, linkTo: base });
    base ??= path;
  }
  return steps;
}

/** Whether what is under that name stays as it is, whoever made it. */
export function mustStay(folder: string, name: string, { skipped, updates }: BinaryChoice, disk: Pick<DurableFiles, "statLink">): boolean {
  return skipped.includes(name) || (!updates && !isGone(disk, `${folder}/${name}`));
}

/** Carries one step out; processes that run the old file keep it. @throws NetplugError ioFailure */
function installBinary({ path, linkTo }: BinaryStep, { disk, executable }: Place): void {
  putAtomically(disk, path, (temporary) => {
    if (linkTo === undefined || !tryLink(disk, linkTo, temporary)) disk.copy(executable, temporary, PERMISSIONS);
  });
}

/** Names in `skipped` that have no effect, for a warning. */
export function findUnknownNames(skipped: readonly string[]): readonly string[] {
  return skipped.filter((name) => !NAMES.some((known) => known === name));
}

function isInPlace(path: string, base: string | undefined, isBaseReplaced: boolean, { disk, executable, userId }: Place): boolean {
  if (isBaseReplaced) return false;
  const facts = disk.statLink(path);
  // A symbolic link, or a file of another user, could be made another one by somebody else.
  if (facts === undefined || !facts.isRegular || facts.permissions !== PERMISSIONS || facts.owner !== userId) return false;
  if (base !== undefined && disk.statLink(base)?.id === facts.id) return true;
  const own = disk.stat(executable);
  return own !== undefined && (own.id === facts.id || (own.sizeBytes === facts.sizeBytes && disk.hasSameContent(executable, path)));
}

/** Some file systems have no hard links. */
function tryLink(disk: DurableFiles, existing: string, path: string): boolean {
  try {
    disk.link(existing, path);
    return true;
  } catch {
    return false;
  }
}
