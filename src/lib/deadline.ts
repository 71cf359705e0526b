/** When an operation must have ended, and what it was waiting for if it has not. */

import { NetplugError } from "./errors.ts";
import type { Clock } from "./ports.ts";

/** The time that one operation (an ADD, a DEL) has. Costs nothing until somebody waits with it. */
export interface Deadline {
  /** Milliseconds that are left, never below 0. */
  remainingMs(): number;
  /**
   * Call before a step that needs time.
   *
   * @param waitingFor ends the sentence "wait for …", e.g. `etcd` or `readiness gate "http://…"`
   * @throws {NetplugError} tryAgainLater when the time is over
   */
  check(waitingFor: string): void;
  /**
   * Waits for `operation`, but no longer than the deadline and `limitMs`. Its signal aborts then; what it does afterwards is ignored.
   *
   * @throws {NetplugError} tryAgainLater naming what was waited for; else whatever `operation` throws
   */
  wait<T>(waitingFor: string, operation: (signal: AbortSignal) => Promise<T>, options?: WaitOptions): Promise<T>;
  /** A deadline that passes after `ms`, or with this one when that is earlier. */
  within(ms: number): Deadline;
}

/** What ends one wait before the deadline does. */
export interface WaitOptions {
  /** Milliseconds for this one wait. @default what the deadline has left */
  readonly limitMs?: number;
  /** Ends the wait too, with its own reason. */
  readonly signal?: AbortSignal;
}

/** A deadline `ms` from now. */
export function startDeadline(clock: Clock, ms: number): Deadline {
  const end = clock.monotonic() + ms;
  const remainingMs = (): number => Math.max(0, end - clock.monotonic());
  return {
    remainingMs,
    check(waitingFor) {
      if (remainingMs() === 0) throw timeIsUp(waitingFor, ms);
    },
    async wait(waitingFor, operation, { limitMs, signal } = {}) {
      signal?.throwIfAborted();
      const left = remainingMs();
      if (left === 0) throw timeIsUp(waitingFor, ms);
      const allowed = Math.min(left, limitMs ?? left);
      const onTimeout = (): NetplugError => timeIsUp(waitingFor, allowed === left ? ms : allowed);
      return await raceAgainst(clock, allowed, onTimeout, operation, signal);
    },
    within: (shorter) => startDeadline(clock, Math.min(shorter, remainingMs())),
  };
}

function timeIsUp(waitingFor: string, ms: number): NetplugError {
  return new NetplugError("tryAgainLater", `wait for ${waitingFor}: not done within ${toDurationText(ms)}`);
}

/** `1.5 s`, `20 s`, `300 ms`. */
export function toDurationText(ms: number): string {
  return ms < 1000 ? `${Math.ceil(ms)} ms` : `${Math.round(ms / 100) / 10} s`;
}

async function raceAgainst<T>(
  clock: Clock,
  ms: number,
  onTimeout: () => NetplugError,
  operation: (signal: AbortSignal) => Promise<T>,
  outer: AbortSignal | undefined,
): Promise<T> {
  const ended = new AbortController();
  const work = new AbortController();
  const interrupted = clock
    .sleep(ms, outer === undefined ? ended.signal : AbortSignal.any([ended.signal, outer]))
    .then(onTimeout, (reason: unknown) => reason);
  try {
    const outcome = operation(work.signal);
    outcome.catch(() => {
      // When it loses the race below, nobody is left to hear its failure.
    });
    return await Promise.race([
      outcome,
      interrupted.then((reason) => {
        work.abort(reason);
        throw reason;
      }),
    ]);
  } finally {
    ended.abort("over");
  }
}
