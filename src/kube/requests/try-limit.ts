/** How long one try may take. */

import { toDurationText } from "../../lib/deadline.ts";
import { NetplugError } from "../../lib/errors.ts";
import type { Clock } from "../../lib/ports.ts";

/** Aborts its signal after some milliseconds, or with the caller's signal; dispose it when the try is over. */
export class TryLimit implements Disposable {
  readonly #controller = new AbortController();
  readonly #ended = new AbortController();
  readonly #outer: AbortSignal | undefined;
  readonly #onOuterAbort = (): void => this.#controller.abort(this.#outer?.reason);
  #isReleased = false;

  /** @param shownMs the limit as people know it; what is left for this try may be less */
  constructor(clock: Clock, ms: number, shownMs: number, outer: AbortSignal | undefined) {
    this.#outer = outer;
    clock.sleep(Math.max(0, ms), this.#ended.signal).then(
      () => this.#controller.abort(new NetplugError("tryAgainLater", `no answer within ${toDurationText(shownMs)}`)),
      () => undefined,
    );
    if (outer?.aborted === true) this.#onOuterAbort();
    else outer?.addEventListener("abort", this.#onOuterAbort);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** From now on only the caller's signal ends what was begun. */
  release(): void {
    this.#ended.abort();
    this.#isReleased = true;
  }

  [Symbol.dispose](): void {
    this.#ended.abort();
    if (!this.#isReleased) this.#outer?.removeEventListener("abort", this.#onOuterAbort);
  }
}
