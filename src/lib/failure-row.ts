/** Failures in a row, of something that is to stand and is begun anew whenever it ends: a connection, or a history that is followed. */

import { type Backoff, delayAfter } from "./backoff.ts";
import type { Clock, Random } from "./ports.ts";

/** When a row is over, and how long to wait within it. */
export interface FailureRowLimits {
  /** Between two tries while none stands for long enough. */
  readonly backoff: Backoff;
  /** How long one stands until what failed before it is over, in milliseconds. */
  readonly steadyMs: number;
}

/** What pauses are made with. */
interface FailureRowPorts {
  readonly clock: Clock;
  readonly random: Random;
}

/** To begin alone ends no row, or what begins and ends at once would be tried without a pause: it has to bring something, or to stand for long enough. */
export class FailureRow {
  readonly #ports: FailureRowPorts;
  readonly #limits: FailureRowLimits;
  #length = 0;
  /** When the present try began to stand, by the monotonic clock; infinite while it does not. */
  #begunAt = Infinity;

  constructor(ports: FailureRowPorts, limits: FailureRowLimits) {
    this.#ports = ports;
    this.#limits = limits;
  }

  /** Notes that the try stands from now on. */
  begin(): void {
    this.#begunAt = this.#ports.clock.monotonic();
  }

  /** Notes that it has brought what is wanted of it: the row is over. */
  succeed(): void {
    this.#length = 0;
  }

  /** Notes that it has ended without a failure. @returns whether it stood for long enough; if not, its end is one to {@link fail} with */
  end(): boolean {
    const isSteady = this.#ports.clock.monotonic() - this.#begunAt >= this.#limits.steadyMs;
    this.#begunAt = Infinity;
    if (isSteady) this.#length = 0;
    return isSteady;
  }

  /** Notes that it has failed. @returns how many have in a row */
  fail(): number {
    this.end();
    return ++this.#length;
  }

  /**
   * Waits after a failure, the longer, the longer the row is; returns early when the signal aborts.
   *
   * @param leastMs milliseconds that it takes at least
   */
  async pause(signal: AbortSignal, leastMs = 0): Promise<void> {
    const { clock, random } = this.#ports;
    const ms = Math.max(delayAfter(this.#length, this.#limits.backoff, random), leastMs);
    await clock.sleep(ms, signal).catch(() => undefined);
  }

  /** Notes that it has ended without a failure, and pauses as after one unless it stood for long enough. */
  async pauseIfShort(signal: AbortSignal): Promise<void> {
    if (this.end()) return;
    this.fail();
    await this.pause(signal);
  }
}
