/** A way back in which each step rests on those before it. */

import type { UndoStack } from "../lib/undo-stack.ts";

/**
 * A stack on which nothing more is undone once a step has failed: an address must go to nobody else while the interface that has it
 * stands, nor what a delegate gave while a record says that it is in use. What stays is told, and the next DEL takes it away.
 */
export function inOrder(undo: UndoStack): UndoStack {
  let failed: string | undefined;
  return {
    push({ what, undo: step }) {
      const fail = (thrown: unknown): never => {
        failed = what;
        throw thrown;
      };
      undo.push({
        what,
        // What does not wait stays so: it is done even when the way back has taken too long.
        undo(signal) {
          if (failed !== undefined) throw new Error(`not before it could ${failed}; the next DEL does both`);
          try {
            return step(signal)?.catch(fail);
          } catch (thrown) {
            return fail(thrown);
          }
        },
      });
    },
  };
}
