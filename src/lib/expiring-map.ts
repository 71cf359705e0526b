/** Values that count for a limited time: what was seen a moment ago need not be asked for again. */

import type { Clock } from "./ports.ts";

/** When a value is forgotten. */
export interface ExpiringMapLimits {
  /** How long a value counts, in milliseconds. */
  readonly lifetimeMs: number;
  /** Most values at once; beyond it the oldest goes. */
  readonly most: number;
}

/** Values by name, forgotten when they are old or too many. */
export class ExpiringMap<V> {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #limits: ExpiringMapLimits;
  /** The oldest first. */
  readonly #entries = new Map<string, { readonly value: V; readonly at: number }>();

  constructor(clock: Pick<Clock, "monotonic">, limits: ExpiringMapLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** The value counts from now on, in the place of another one under this key. */
  set(key: string, value: V): void {
    this.#entries.delete(key);
    const [oldest] = this.#entries.keys();
    if (oldest !== undefined && this.#entries.size >= this.#limits.most) this.#entries.delete(oldest);
    this.#entries.set(key, { value, at: this.#clock.monotonic() });
  }

  get(key: string): V | undefined {
    this.#sweep();
    return this.#entries.get(key)?.value;
  }

  /** Gives a value once. */
  take(key: string): V | undefined {
    const value = this.get(key);
    this.#entries.delete(key);
    return value;
  }

  /** All that still count, the oldest first. */
  values(): readonly V[] {
    this.#sweep();
    return [...this.#entries.values()].map(({ value }) => value);
  }

  clear(): void {
    this.#entries.clear();
  }

  #sweep(): void {
    const from = this.#clock.monotonic() - this.#limits.lifetimeMs;
    for (const [key, { at }] of this.#entries) {
      if (at >= from) return;
      this.#entries.delete(key);
    }
  }
}
