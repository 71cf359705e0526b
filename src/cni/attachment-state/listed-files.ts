/** What the names of the files in the folders of `node-files.ts` say: for those who list them, a GC or a DEL with something pending. */

import type { AttachmentId } from "../../api/ipam-block.ts";
import type { LocalCall } from "../call.ts";
import { tolerate, folderOf, type NodeFile, SEPARATOR, UNFINISHED } from "./node-files.ts";

/** All kinds that there are. */
export const NODE_FILES: readonly NodeFile[] = ["attached", "unreleased", "dns"];

/** The attachments of every network that have a hold, which outlives its ADD. */
export function listHeld(call: LocalCall): readonly AttachmentId[] {
  let names: readonly string[] = [];
  tolerate(call, () => {
    names = call.host.files.list(folderOf(call, "attached")) ?? [];
  });
  return names.map(toAttachmentId).filter((id) => id !== undefined);
}

/** The attachment of the network that a file is named after. */
export function fromFileName({ config }: LocalCall, name: string): AttachmentId | undefined {
  const id = toAttachmentId(name);
  return id?.network === config.name ? id : undefined;
}

function toAttachmentId(name: string): AttachmentId | undefined {
  const [network = "", containerID, ...rest] = name.split(SEPARATOR);
  if (containerID === undefined || rest.length === 0 || UNFINISHED.test(name)) return undefined;
  return { network, containerID, ifName: rest.join(SEPARATOR) };
}

/**
 * Whether a file of the network was not renamed yet, and its writer was killed. An ADD whose file is removed before that would have no hold.
 * If another process has the writer's number by now, the file stays until that has ended.
 */
export function isUnfinished({ config, host }: LocalCall, name: string): boolean {
  const writer = name.startsWith(`${config.name}${SEPARATOR}`) ? UNFINISHED.exec(name)?.[1] : undefined;
  return writer !== undefined && !host.files.exists(`/proc/${writer}`);
}

/** Removes the network's files of a kind that calls left unfinished which were killed. */
export function removeUnfinished(call: LocalCall, kind: NodeFile): void {
  const { files } = call.host;
  const folder = folderOf(call, kind);
  tolerate(call, () => {
    for (const name of files.list(folder) ?? []) if (isUnfinished(call, name)) files.remove(`${folder}/${name}`);
  });
}
