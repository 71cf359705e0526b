/** Passes what commits change on to whoever watches. */

import type { WatchEvent, WatchOptions } from "../datastore.ts";

/** What one watch has not seen yet. */
export class WatchQueue {
  readonly #events: WatchEvent[] = [];
  #wake: (() => void) | undefined;

  push(events: readonly WatchEvent[]): void {
    this.#events.push(...events);
    this.#wake?.();
  }

  /** Ends when the signal aborts. */
  async *drain(signal: AbortSignal): AsyncIterable<WatchEvent> {
    const onAbort = (): void => this.#wake?.();
    signal.addEventListener("abort", onAbort);
    try {
      while (!signal.aborted) {
        const event = this.#events.shift();
        if (event !== undefined) yield event;
        else {
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
        }
      }
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }
}

/** Whether a watch asked for what an event is about. */
export function isWanted(event: WatchEvent, kinds: WatchOptions["kinds"]): boolean {
  switch (event.type) {
    case "put":
      return kinds.includes(event.stored.value.kind);
    case "delete":
      return kinds.includes(event.ref.kind);
    case "put-block":
    case "delete-block":
      return kinds.includes("IPAMBlock");
    default:
      return true;
  }
}
