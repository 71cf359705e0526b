/** The events of one watch, in the order in which its producers push them. */

import type { WatchEvent } from "./datastore.ts";

/** Ends with `signal`, by {@link end}, or when it is disposed of; producers work until its own signal aborts. */
export class EventQueue implements Disposable {
  readonly #outer: AbortSignal;
  readonly #ended = new AbortController();
  readonly #onOuterAbort = (): void => this.#ended.abort();
  #events: WatchEvent[] = [];
  #failure: { readonly thrown: unknown } | undefined;
  #wake: () => void = () => undefined;

  constructor(outer: AbortSignal) {
    this.#outer = outer;
    outer.addEventListener("abort", this.#onOuterAbort);
    this.#ended.signal.addEventListener("abort", () => this.#wake());
  }

  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  push(...events: readonly WatchEvent[]): void {
    for (const event of events) this.#events.push(event);
    this.#wake();
  }

  /** What was pushed before is still read. */
  end(): void {
    this.#ended.abort();
  }

  /** The reader gets it after all that was pushed before; of several the first. */
  fail(thrown: unknown): void {
    if (!this.#ended.signal.aborted) this.#failure ??= { thrown };
    this.#ended.abort();
  }

  /** @throws what a producer failed with */
  async *drain(): AsyncIterable<WatchEvent> {
    for (;;) {
      const events = this.#events;
      this.#events = [];
      for (const event of events) {
        if (this.#outer.aborted) return;
        yield event;
      }
      if (this.#events.length > 0) continue;
      if (this.#failure !== undefined) throw this.#failure.thrown;
      if (this.#ended.signal.aborted) return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  [Symbol.dispose](): void {
    this.#ended.abort();
    this.#outer.removeEventListener("abort", this.#onOuterAbort);
  }
}
