/** What the names of the files in the folders of `node-files.ts` say: for those who list them, a GC or a DEL with something pending. */

import type { Attachment } from "../../ipam/request.ts";
import type { LocalCall } from "../call.ts";
import { type NodeFile, SEPARATOR, UNFINISHED } from "./node-files.ts";

/** All kinds that there are. */
export const NODE_FILES: readonly NodeFile[] = ["attached", "unreleased", "dns"];

/** The attachment of the network that a file is named after. */
export function fromFileName({ config }: LocalCall, name: string): Attachment | undefined {
  const [network, containerID, ...rest] = name.split(SEPARATOR);
  if (network !== config.name || containerID === undefined || rest.length === 0 || UNFINISHED.test(name)) return undefined;
  return { containerID, ifName: rest.join(SEPARATOR) };
}

/**
 * Whether a file of the network was not renamed yet, and its writer was killed. An ADD whose file is removed before that would have no hold.
 * If another process has the writer's number by now, the file stays until that has ended.
 */
export function isUnfinished({ config, host }: LocalCall, name: string): boolean {
  const writer = name.startsWith(`${config.name}${SEPARATOR}`) ? UNFINISHED.exec(name)?.[1] : undefined;
  return writer !== undefined && !host.files.exists(`/proc/${writer}`);
}
