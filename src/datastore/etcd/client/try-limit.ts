/** How long one try may take. */

import { toDurationText } from "../../../lib/deadline.ts";
import { EtcdFailure } from "../protocol/failure.ts";

/**
 * Aborts its signal after some milliseconds, or with the caller's signal; dispose it when the try is over. A timer and no
 * `Deadline`: this is on the path of every ADD, where racing promises would cost a third of a millisecond.
 */
export class TryLimit implements Disposable {
  readonly #controller = new AbortController();
  readonly #timer: ReturnType<typeof setTimeout>;
  readonly #outer: AbortSignal | undefined;
  readonly #onOuterAbort = (): void => this.#controller.abort(this.#outer?.reason);

  constructor(ms: number, outer: AbortSignal | undefined) {
    this.#outer = outer;
    this.#timer = setTimeout(() => {
      this.#controller.abort(new EtcdFailure("lost", `no answer within ${toDurationText(ms)}`));
    }, ms);
    if (outer?.aborted === true) this.#onOuterAbort();
    else outer?.addEventListener("abort", this.#onOuterAbort);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener("abort", this.#onOuterAbort);
  }
}
