/**
 * One file for each attachment, named after network, container and interface. Their folders are beside the lock that all calls on the node
 * share, and do not outlive a boot. The functions here are about the call's own attachment, unless another is given.
 */

import type { AttachmentId } from "../../api/ipam-block.ts";
import { messageOf, NetplugError } from "../../lib/errors.ts";
import { attachmentIdOf, type LocalCall } from "../call.ts";

/** The folders, by what their files note. `attached`: which ADD has the attachment; `unreleased`: what a later DEL must release; `dns`: what a delegate said of DNS. */
export type NodeFile = "attached" | "unreleased" | "dns";

/** Neither a network's name nor a container ID can hold it. */
export const SEPARATOR = "@";
/** Between the parts of a file; no path that we take has it. */
export const END_OF_PART = "\n";
const FILE_MODE = 0o600;
/** Names that `writeAtomically()` gives to files before it renames them, with the number of its process. */
export const UNFINISHED = /\.(\d+)\.\d+\.tmp$/;
/** Longest name of a file. The kernel's limit is 255, and the temporary name is longer. */
const NAME_LENGTH_MAX = 230;

/** Does what no call may fail for. @returns undefined after a failure, which is only logged */
export function tolerate<T>(call: LocalCall, work: () => T): T | undefined {
  try {
    return work();
  } catch (thrown) {
    call.log.warning("cannot read or write a note about the attachment on this node", { reason: messageOf(thrown) });
    return undefined;
  }
}

/** @returns undefined when there is none @throws NetplugError ioFailure */
export function readNodeFile(call: LocalCall, kind: NodeFile, attachment?: AttachmentId): string | undefined {
  const path = pathOf(call, kind, attachment);
  return path === undefined ? undefined : call.host.files.readText(path);
}

/** Whether there is one. */
export function hasNodeFile(call: LocalCall, kind: NodeFile, attachment?: AttachmentId): boolean {
  const path = pathOf(call, kind, attachment);
  return path !== undefined && call.host.files.exists(path);
}

/** Makes the file, or replaces it. @throws NetplugError ioFailure */
export function writeNodeFile(call: LocalCall, kind: NodeFile, text: string, attachment?: AttachmentId): void {
  const path = pathOf(call, kind, attachment);
  if (path === undefined) throw new NetplugError("ioFailure", "the names of network, container and interface are too long");
  call.host.files.writeAtomically(path, text, FILE_MODE);
}

/** Adds a part to the file of the call's attachment; does nothing where there is none. @throws NetplugError ioFailure */
export function appendToNodeFile(call: LocalCall, kind: NodeFile, part: string | number): void {
  const path = pathOf(call, kind);
  if (path !== undefined) call.host.files.append(path, END_OF_PART + part);
}

/** Does nothing where there is none. @throws NetplugError ioFailure */
export function removeNodeFile(call: LocalCall, kind: NodeFile, attachment?: AttachmentId): void {
  const path = pathOf(call, kind, attachment);
  if (path !== undefined) call.host.files.remove(path);
}

/** The folder with all files of a kind, of every network. */
export function folderOf({ config }: LocalCall, kind: NodeFile): string {
  return `${config.runFolder}/${kind}`;
}

/** @returns undefined for an attachment whose names are too long together, or would be taken for an unfinished file: it has no files */
function pathOf(call: LocalCall, kind: NodeFile, { network, containerID, ifName } = attachmentIdOf(call)): string | undefined {
  const name = [network, containerID, ifName].join(SEPARATOR);
  return name.length <= NAME_LENGTH_MAX && !UNFINISHED.test(name) ? `${folderOf(call, kind)}/${name}` : undefined;
}
