/** Undoing a half-done operation. */

import { type Deadline, startDeadline, toDurationText } from "./deadline.ts";
import { messageOf } from "./errors.ts";
import type { Clock } from "./ports.ts";

/** How one side effect is undone. */
export interface UndoStep {
  /** What is undone, as the headline of an error: `delete veth "npg82111e10a96"`. */
  readonly what: string;
  /**
   * Must succeed when there is nothing to undo. The signal aborts when undoing has taken too long; synchronous work (the kernel's) is
   * done even then.
   */
  readonly undo: (signal: AbortSignal) => void | Promise<void>;
}

/** An operation failed, and so did part of undoing it. */
export class UndoFailed extends AggregateError {
  override readonly name = "UndoFailed";

  /**
   * @param cause why the operation failed: the headline
   * @param failures one per step that could not be undone, in the order they ran
   */
  constructor(cause: unknown, failures: readonly Error[]) {
    super(failures, `${messageOf(cause)} (left behind: ${failures.map((failure) => failure.message).join(", ")})`, { cause });
  }
}

/** How to undo each side effect of one operation, collected as they happen. */
export interface UndoStack {
  /** Call it right after a side effect; before it if its outcome may stay unknown, as with a commit that may lose its reply. */
  push(step: UndoStep): void;
}

/** How long undoing may take. */
export interface UndoOptions {
  readonly clock: Clock;
  /** Milliseconds to undo all steps, counted from the failure: the operation's own deadline may be what failed. */
  readonly undoMs: number;
}

/**
 * Runs `operation`; when it fails, undoes what it pushed, last first. A step that fails or takes too long does not stop the others.
 *
 * ```ts
 * await withUndo({ clock, undoMs: 10_000 }, async (undo) => {
 *   undo.push({ what: `release ${plan.address}`, undo: (signal) => store.release(plan.address, signal) });
 *   await store.commit(plan.writes);
 *   kernel.createVeth(plan.veth); // throws: the address is released
 * });
 * ```
 *
 * @throws what `operation` threw, or {@link UndoFailed} around it when something is left behind
 */
export async function withUndo<T>({ clock, undoMs }: UndoOptions, operation: (undo: UndoStack) => Promise<T>): Promise<T> {
  const steps: UndoStep[] = [];
  try {
    return await operation({ push: (step) => void steps.push(step) });
  } catch (cause) {
    if (steps.length === 0) throw cause;
    const failures = await undoAll(steps, startDeadline(clock, undoMs), undoMs);
    throw failures.length === 0 ? cause : new UndoFailed(cause, failures);
  }
}

async function undoAll(steps: UndoStep[], deadline: Deadline, undoMs: number): Promise<readonly Error[]> {
  const failures: Error[] = [];
  for (let step = steps.pop(); step !== undefined; step = steps.pop()) {
    try {
      await undoOne(step, deadline, undoMs);
    } catch (cause) {
      failures.push(new Error(`${step.what}: ${messageOf(cause)}`, { cause }));
    }
  }
  return failures;
}

async function undoOne({ undo }: UndoStep, deadline: Deadline, undoMs: number): Promise<void> {
  if (deadline.remainingMs() > 0) {
    await deadline.wait("its end", async (signal) => await undo(signal));
    return;
  }
  // Too late to wait for anything, but what the step does at once is done.
  const late = undo(AbortSignal.abort(new Error("undoing took too long")));
  if (late === undefined) return;
  late.catch(() => {
    // Reported below, whatever becomes of it.
  });
  throw new Error(`no time left: undoing took longer than ${toDurationText(undoMs)}`);
}
