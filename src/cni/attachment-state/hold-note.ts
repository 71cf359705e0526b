/** What the file of a held attachment says, and whether the hold is newer than the call that reads it. */

import type { AttachmentId } from "../../api/ipam-block.ts";
import type { LocalCall } from "../call.ts";
import { openNetnsIfThere } from "../link/pod-netns.ts";
import { END_OF_PART, readNodeFile, writeNodeFile } from "./node-files.ts";

/** The kernel gives a process's start to 10 ms. No runtime repeats an ADD within 20 ms. */
const START_MARGIN_MS = 20;

/** The file is there from the ADD that took hold until a DEL. */
export interface HoldNote {
  /** Path of the network namespace; "": none is named. */
  readonly path: string;
  /** Identity of that namespace; "": it was not opened. */
  readonly id: string;
  readonly plugin: string | undefined;
  /** Milliseconds since the machine was started. */
  readonly takenAt: number;
  /** Number of the ADD's process; NaN: an older version noted none. */
  readonly processId: number;
  /** Number of the process that called it. */
  readonly callerId: number;
  /** When an ADD last noted its success here, the one that took it or an earlier one, on the clock of `takenAt`; NaN: none has. */
  readonly succeededAt: number;
  /** Whether an ADD noted its end here, success or failure: then nothing that it has sent is on its way. */
  readonly isOver: boolean;
}

/**
 * The hold of an attachment.
 *
 * @param attachment by default the call's own
 * @returns undefined when nobody has it
 * @throws NetplugError ioFailure
 */
export function readHold(call: LocalCall, attachment?: AttachmentId): HoldNote | undefined {
  const text = readNodeFile(call, "attached", attachment);
  if (text === undefined) return undefined;
  const [path = "", id = "", plugin, ...numbers] = text.split(END_OF_PART);
  const [takenAt = NaN, processId = NaN, callerId = NaN, ...ends] = numbers.map(Number);
  return { path, id, plugin, takenAt, processId, callerId, succeededAt: ends.findLast(Number.isFinite) ?? NaN, isOver: ends.length > 0 };
}

/** What an ADD writes when it takes hold; its end comes later. */
export type WrittenHold = Omit<HoldNote, "succeededAt" | "isOver">;

/** Of the call's attachment. @throws NetplugError ioFailure */
export function writeHold(call: LocalCall, { path, id, plugin, takenAt, processId, callerId }: WrittenHold): void {
  writeNodeFile(call, "attached", [path, id, plugin, takenAt, processId, callerId].join(END_OF_PART));
}

/**
 * Whether an ADD in another namespace took the attachment after this process began. Then the runtime has given up this call, which was
 * stopped, or waited for a processor.
 */
export function isNewer(call: LocalCall, there: HoldNote): boolean {
  try {
    return isElsewhere(call, there) && isYounger(call, there);
  } catch {
    return false;
  }
}

/** Whether the hold began after this process. A time in the future is of an earlier boot, in a folder that was not cleared. */
function isYounger({ host }: LocalCall, { takenAt }: HoldNote): boolean {
  const start = host.processStartSinceBoot();
  return start !== undefined && takenAt > start + START_MARGIN_MS && takenAt <= host.sinceBoot();
}

/**
 * Whether the attachment is held in another namespace than this call's. Two paths may name one namespace; a call for addresses alone may
 * name none.
 */
function isElsewhere({ environment: { netns: path }, host: { kernel } }: LocalCall, { path: place, id }: HoldNote): boolean {
  if (place === path) return false;
  using holding = openNetnsIfThere(kernel, place);
  if (holding?.id !== id && id !== "") return false;
  using own = path === undefined ? undefined : openNetnsIfThere(kernel, path);
  return own === undefined || own.id !== id;
}
