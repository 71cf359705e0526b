/** What the names of the files in the folders of `node-files.ts` say: for those who list them, a GC or a DEL with something pending. */

import type { AttachmentId } from "../../api/ipam-block.ts";
import { randomInteger } from "../../lib/random.ts";
import type { LocalCall } from "../call.ts";
import { tolerate, folderOf, SEPARATOR, UNFINISHED } from "./node-files.ts";

/** The attachments of every network that have a hold, which outlives its ADD. */
export function listHeld(call: LocalCall): readonly AttachmentId[] {
  const names = tolerate(call, () => call.host.files.list(folderOf(call, "attached"))) ?? [];
  return names.map(toAttachmentId).filter((id) => id !== undefined);
}

/** The attachment of the network that a file is named after. */
export function fromFileName({ config }: LocalCall, name: string): AttachmentId | undefined {
  const id = toAttachmentId(name);
  return id?.network === config.name ? id : undefined;
}

/** The same entries from a random one on: where a call looks at some of them only, others come to the rest. */
export function fromRandomOne<T>({ host }: LocalCall, entries: readonly T[]): readonly T[] {
  const first = randomInteger(host.random, entries.length);
  return [...entries.slice(first), ...entries.slice(0, first)];
}

function toAttachmentId(name: string): AttachmentId | undefined {
  const [network = "", containerID, ...rest] = name.split(SEPARATOR);
  if (containerID === undefined || rest.length === 0 || UNFINISHED.test(name)) return undefined;
  return { network, containerID, ifName: rest.join(SEPARATOR) };
}
