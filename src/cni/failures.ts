/** Going on after a failure, so that all that can be cleaned up is. */

import { messageOf, NetplugError } from "../lib/errors.ts";

/** How one step ended. */
export type Settled = { readonly ok: true } | Failed;

type Failed = { readonly ok: false; readonly error: unknown };

/** Runs a step, synchronous or not, and keeps what it gives, or its failure, for later. */
export async function settle<T>(step: () => T): Promise<{ readonly ok: true; readonly value: Awaited<T> } | Failed> {
  try {
    return { ok: true, value: await step() };
  } catch (error) {
    return { ok: false, error };
  }
}

/**
 * Throws one error for all steps that failed: the first is the headline, the others are its details.
 */
export function throwFirstFailure(steps: readonly Settled[]): void {
  const errors = [...new Set(steps.flatMap((step) => (step.ok ? [] : [step.error])))];
  const [first, ...others] = errors;
  if (first === undefined) return;
  if (others.length === 0 || !(first instanceof NetplugError)) throw toError(first);
  // A reason that many steps share, such as an expired deadline, is said once.
  const texts = new Set([first.details, ...others.map(messageOf)]);
  texts.delete(first.message);
  texts.delete(undefined);
  if (texts.size === 0) throw first;
  throw first.reworded(first.message, [...texts].join("; "));
}

function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(messageOf(thrown));
}
