/** The end of a hold by a DEL, which may be late itself: then the hold is a newer ADD's, and stays. */

import type { LocalCall } from "../call.ts";
import { type HoldNote, isNewer, readHold } from "./hold-note.ts";
import { removeNodeFile, tolerate } from "./node-files.ts";

/** What a DEL has ended. */
export interface EndedHold {
  /** What was noted of it; undefined: nobody knows. */
  readonly hold: HoldNote | undefined;
  /** Whether a newer ADD has the attachment: this DEL is late, and must remove nothing. */
  isTaken(): boolean;
}

/**
 * Ends the hold of the call's attachment, whoever has it, unless it is newer than the call: for a DEL.
 *
 * @param beforeEnd is told of the hold that is about to end
 */
export function endHold(call: LocalCall, beforeEnd?: (hold: HoldNote) => void): EndedHold {
  let hold: HoldNote | undefined;
  let isEnded = false;
  tolerate(call, () => {
    hold = readHold(call);
    if (hold !== undefined && !isNewer(call, hold)) {
      beforeEnd?.(hold);
      removeNodeFile(call, "attached");
    }
    isEnded = true;
  });
  return {
    hold,
    isTaken() {
      try {
        return isEnded && readHold(call) !== undefined;
      } catch {
        return false;
      }
    },
  };
}
