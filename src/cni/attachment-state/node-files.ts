/**
 * One file for each attachment, named after network, container and interface. Their folders lie beside the lock that all calls on the node
 * share, and do not outlive a boot.
 */

import type { Attachment } from "../../ipam/request.ts";
import { messageOf, NetplugError } from "../../lib/errors.ts";
import type { LocalCall } from "../call.ts";
import { runFolderOf } from "../config/network-config.ts";

/** The folders, by what their files note. */
export const NODE_FILES = ["attached", "unreleased", "dns"] as const;
export type NodeFile = (typeof NODE_FILES)[number];

/** Neither a network's name nor a container ID can hold it. */
const SEPARATOR = "@";
/** Between the parts of a file; no path that we take has it. */
export const END_OF_PART = "\n";
const FILE_MODE = 0o600;
/** Names that `writeAtomically()` gives to files before it renames them. */
const UNFINISHED = /\.\d+\.\d+\.tmp$/;
/** Longest name of a file. The kernel's limit is 255, and the temporary name is longer. */
const NAME_LENGTH_MAX = 230;

/** Does what no call may fail for: a failure is only logged. */
export function attempt(call: LocalCall, work: () => void): void {
  try {
    work();
  } catch (thrown) {
    call.log.warning("cannot read or write a note about the attachment on this node", { reason: messageOf(thrown) });
  }
}

/** Replaces the file of the call's attachment. @throws NetplugError ioFailure */
export function writeNodeFile(call: LocalCall, kind: NodeFile, text: string): void {
  if (!isNameable(call, call.environment))
    throw new NetplugError("ioFailure", "the names of network, container and interface are too long");
  call.host.files.writeAtomically(fileOf(call, kind, call.environment), text, FILE_MODE);
}

export function folderOf({ config }: LocalCall, kind: NodeFile): string {
  return `${runFolderOf(config)}/${kind}`;
}

export function fileOf(call: LocalCall, kind: NodeFile, attachment: Attachment): string {
  return `${folderOf(call, kind)}/${nameOf(call, attachment)}`;
}

/** The attachment of the network that a file is named after. */
export function fromFileName({ config }: LocalCall, name: string): Attachment | undefined {
  const [network, containerID, ...rest] = name.split(SEPARATOR);
  if (network !== config.name || containerID === undefined || rest.length === 0 || UNFINISHED.test(name)) return undefined;
  return { containerID, ifName: rest.join(SEPARATOR) };
}

/** Whether a file of the network was not renamed yet. While no other call runs, its writer was killed. */
export function isUnfinished({ config }: LocalCall, name: string): boolean {
  return name.startsWith(`${config.name}${SEPARATOR}`) && UNFINISHED.test(name);
}

function nameOf({ config }: LocalCall, { containerID, ifName }: Attachment): string {
  return [config.name, containerID, ifName].join(SEPARATOR);
}

/** Whether an attachment can have such files: not when its names are too long together, or would be taken for an unfinished file. */
export function isNameable(call: LocalCall, attachment: Attachment): boolean {
  const name = nameOf(call, attachment);
  return name.length <= NAME_LENGTH_MAX && !UNFINISHED.test(name);
}
