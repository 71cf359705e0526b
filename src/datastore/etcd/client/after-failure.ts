/** What a call does after a failed try, and after a round in which all of them have failed. Loaded only by calls that fail. */

import { type Backoff, delayAfter } from "../../../lib/backoff.ts";
import type { Clock, Random } from "../../../lib/ports.ts";
import { classify, isSurelyNotApplied } from "../protocol/failure.ts";
import { abortedError, type Action, failedError, type FailedTry, lostCommitError } from "./errors.ts";

/** A call with all its tries: what it is for, and what ends it. */
export interface Call {
  readonly action: Action;
  /** Of the caller. */
  readonly signal: AbortSignal | undefined;
  /** When its time is up: milliseconds of the monotonic clock. */
  readonly endMs: number;
}

/** A round whose tries have all failed, each in a way that another try may not. */
interface FailedRound {
  /** From 1. */
  readonly number: number;
  readonly tries: readonly FailedTry[];
}

/** An election takes one to two seconds; a server that restarts is back sooner or much later. */
const ROUND_BACKOFF: Backoff = { firstMs: 50, maxMs: 800 };

/** Milliseconds; with less time left, no further round, which would only replace the last failure by a timeout. */
const LEAST_ROUND_MS = 250;

/** Rounds after which unreachable servers count as down. */
const ROUNDS_WHEN_UNREACHABLE = 3;

/** @throws NetplugError when another try would be senseless or dangerous after this one */
export function throwIfFinal({ action, signal }: Call, failed: FailedTry): void {
  if (action === "commit to" && !isSurelyNotApplied(failed.failure)) throw lostCommitError(failed);
  if (signal?.aborted === true) throw abortedError(action, signal.reason);
  const failureClass = classify(failed.failure);
  if (failureClass !== "try-elsewhere") throw failedError(action, [failed], failureClass);
}

/**
 * Waits after a round until it is time for the next one.
 *
 * @throws NetplugError when there is no sense in another round, or no time for one, and when the caller's signal aborts
 */
export async function waitForNextRound(
  { action, signal, endMs }: Call,
  { number, tries }: FailedRound,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
): Promise<void> {
  const giveUp = (): never => {
    throw failedError(action, tries, "try-elsewhere");
  };
  const isTooLateIn = (ms: number): boolean => clock.monotonic() + ms + LEAST_ROUND_MS > endMs;
  const delayMs = delayAfter(number, ROUND_BACKOFF, random);
  if (number >= roundsWorthTrying(tries) || isTooLateIn(delayMs)) giveUp();
  await clock.sleep(delayMs, signal).catch((reason: unknown) => {
    throw abortedError(action, reason);
  });
  if (isTooLateIn(0)) giveUp();
}

function roundsWorthTrying(tries: readonly FailedTry[]): number {
  const reasons = tries.map(({ failure }) => failure.reason);
  if (reasons.every((reason) => reason === "untrusted")) return 1;
  return reasons.every((reason) => reason === "unreachable" || reason === "untrusted") ? ROUNDS_WHEN_UNREACHABLE : Infinity;
}
