/** A way back in which each step rests on those before it. */

import type { UndoStack } from "../lib/undo-stack.ts";

/**
 * A stack on which a step is begun only when the one after it has ended well: an address must go to nobody else while the interface that has
 * it stands, nor what a delegate gave while a record says that it is in use. One that is given up because it takes too long has not ended.
 * What stays is told, and the next DEL takes it away.
 */
export function inOrder(undo: UndoStack): UndoStack {
  let unfinished: string | undefined;
  let isBroken = false;
  return {
    push({ what, undo: step }) {
      undo.push({
        what,
        // What does not wait stays so: it is done even when the way back has taken too long.
        undo(signal) {
          if (unfinished !== undefined) {
            isBroken = true;
            throw new Error(`not before it could ${unfinished}; the next DEL does both`);
          }
          unfinished = what;
          const finish = (): void => {
            // Too late, when a step that rests on it was left out meanwhile.
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
