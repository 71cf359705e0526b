/** Undoing in order: no step is undone before the later steps that need it. */

import type { UndoStack } from "../../lib/undo-stack.ts";

/**
 * A stack that undoes a step only when the step pushed after it is undone: an address must not be released while an interface has it, nor a
 * delegate's address while a record names it. An undo that runs out of time counts as not done. The error names what stays; the next
 * DEL removes it.
 */
export function inOrder(undo: UndoStack): UndoStack {
  let unfinished: string | undefined;
  let isBroken = false;
  return {
    push({ what, undo: step }) {
      undo.push({
        what,
        // A synchronous step must stay synchronous: it is undone even when the time is over.
        undo(signal) {
          if (unfinished !== undefined) {
            isBroken = true;
            throw new Error(`not before it could ${unfinished}; the next DEL does both`);
          }
          unfinished = what;
          const finish = (): void => {
            // Unless an earlier step was left out because this one took too long: then the order is broken for good.
            if (!isBroken) unfinished = undefined;
          };
          const ending = step(signal);
          if (ending !== undefined) return ending.then(finish);
          finish();
        },
      });
    },
  };
}
