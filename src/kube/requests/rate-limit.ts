/** How many requests we make at most: a bucket of tokens. */

import type { Clock } from "../../lib/ports.ts";

/** `qps` and `burst` of the network config and of `netplugctl.cfg`. */
export interface RateOptions {
  /** Requests a second in the long run; 0 or less: no limit. @default 5 */
  readonly qps?: number | undefined;
  /** Requests that may be made at once after a rest. @default 100 */
  readonly burst?: number | undefined;
}

const DEFAULT_QPS = 5;
const DEFAULT_BURST = 100;

/** First come, first served. */
export class RateLimit {
  readonly #clock: Clock;
  readonly #perMs: number;
  readonly #burst: number;
  /** Below 0: so many are waiting. */
  #tokens: number;
  #at: number;

  constructor({ qps = DEFAULT_QPS, burst = DEFAULT_BURST }: RateOptions, clock: Clock) {
    this.#clock = clock;
    this.#perMs = qps / 1000;
    this.#burst = Math.max(1, burst);
    this.#tokens = this.#burst;
    this.#at = clock.monotonic();
  }

  /** Milliseconds until a request may be made now; it counts as made. */
  take(): number {
    if (this.#perMs <= 0) return 0;
    const now = this.#clock.monotonic();
    this.#tokens = Math.min(this.#burst, this.#tokens + (now - this.#at) * this.#perMs) - 1;
    this.#at = now;
    return this.#tokens >= 0 ? 0 : -this.#tokens / this.#perMs;
  }

  /** A request that was taken is not made after all. */
  refund(): void {
    this.#tokens += 1;
  }
}
