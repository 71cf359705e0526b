/** The two folders of the host that an installation is about. */

import { messageOf, NetplugError } from "../lib/errors.ts";
import { quote } from "../lib/quote.ts";
import type { DurableFiles } from "./files/durable-files.ts";
import { DEFAULT_FOLDERS, type Settings } from "./settings/settings.ts";
import { withoutSlash } from "./settings/variables.ts";

/** Paths of folders that exist, as this process sees them: in a pod they are mounts of the host's. No slash at the end. */
export interface Folders {
  readonly bin: string;
  readonly conf: string;
}

/** A folder that was removed while it is mounted here: nothing can be made in it, and only a new mount shows the one in its place. */
export class LostFolder extends NetplugError {}

/**
 * Finds both folders. One that was named is made when it is missing; a default one is where a manifest mounts the host's, and when it is
 * missing the mount was forgotten: what we put there would never be seen.
 *
 * @throws NetplugError invalidConfig, ioFailure naming folder and reason
 * @throws LostFolder ioFailure
 */
export function openFolders({ binDir, confDir }: Settings, disk: DurableFiles): Folders {
  return {
    bin: openFolder(binDir, DEFAULT_FOLDERS.bin, "--bin-dir", disk),
    conf: openFolder(confDir, DEFAULT_FOLDERS.conf, "--conf-dir", disk),
  };
}

/** Whether files can be made there; for messages, as the answer may be different a moment later. */
export function isFolderWritable(folder: string, disk: DurableFiles): boolean {
  try {
    disk.checkWritable(folder);
    return true;
  } catch {
    return false;
  }
}

/** @throws NetplugError ioFailure naming folder and reason */
export function requireWritable(folder: string, disk: DurableFiles): void {
  try {
    disk.checkWritable(folder);
  } catch (cause) {
    throw new NetplugError("ioFailure", `install into ${quote(folder)}: ${messageOf(cause)}; mount it writable, or name another folder`, {
      cause,
    });
  }
}

function openFolder(named: string | undefined, otherwise: string, option: string, disk: DurableFiles): string {
  const folder = named === undefined ? otherwise : withoutSlash(named);
  const facts = disk.stat(folder);
  if (facts === undefined) {
    if (named === undefined) {
      const advice = `mount the host's folder there, or name it with ${option}`;
      throw new NetplugError("invalidConfig", `install into ${quote(folder)}: there is no such folder; ${advice}`);
    }
    makeFolder(folder, disk);
  } else if (!facts.isFolder) throw new NetplugError("invalidConfig", `install into ${quote(folder)}: it is no folder`);
  else if (facts.links === 0) {
    const advice = "start this anew, so that the one in its place is mounted";
    throw new LostFolder("ioFailure", `install into ${quote(folder)}: somebody removed the folder that is mounted there; ${advice}`);
  }
  return folder;
}

function makeFolder(folder: string, disk: DurableFiles): void {
  try {
    disk.makeFolders(folder);
  } catch (cause) {
    throw new NetplugError("ioFailure", `install into ${quote(folder)}: ${messageOf(cause)}`, { cause });
  }
}
