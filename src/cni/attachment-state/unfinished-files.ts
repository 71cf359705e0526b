/** Files that calls wrote and were killed before they could rename them. Nobody reads those; until they are removed they take memory. */

import type { LocalCall } from "../call.ts";
import { folderOf, type NodeFile, SEPARATOR, tolerate, UNFINISHED } from "./node-files.ts";

/** All kinds that there are. */
const NODE_FILES: readonly NodeFile[] = ["attached", "unreleased", "dns"];

/** Removes those that are about attachments of the call's network. */
export function removeUnfinished(call: LocalCall): void {
  for (const kind of NODE_FILES) removeIn(call, folderOf(call, kind), (name) => name.startsWith(`${call.config.name}${SEPARATOR}`));
}

/** Removes those of what calls of the node leave for each other besides: count of work, hint of blocks, prefetch, note of STATUS, tokens. */
export function removeUnfinishedOfNode(call: LocalCall): void {
  const { ipamLockFile, runFolder: folder } = call.config;
  const workFile = `${ipamLockFile.slice(folder.length + 1)}.work`;
  // Others may have files in that folder, too.
  removeIn(call, folder, (name) => name === workFile || name === "blocks.json" || /^(?:next-add\..+\.json|status\..+)$/.test(name));
  removeIn(call, `${folder}/etcd-tokens`, () => true);
}

/**
 * An ADD whose file is removed before it is renamed would have no hold. So if another process has the writer's number by now, the file stays
 * until that has ended.
 *
 * @param isOurs asked with the name that the file would have got
 */
function removeIn(call: LocalCall, folder: string, isOurs: (name: string) => boolean): void {
  const { files } = call.host;
  const names = tolerate(call, () => files.list(folder)) ?? [];
  for (const name of names) {
    const unfinished = UNFINISHED.exec(name);
    if (unfinished === null || !isOurs(name.slice(0, unfinished.index)) || files.exists(`/proc/${unfinished[1]}`)) continue;
    // One that cannot be removed must not stop the removal of the others.
    tolerate(call, () => files.remove(`${folder}/${name}`));
  }
}
