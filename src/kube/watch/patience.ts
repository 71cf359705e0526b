/** Which failures a follower goes on after. */

import type { Clock } from "../../lib/ports.ts";
import { KubeError, type KubeReason } from "../kube-error.ts";

/** How long a server that has started may deny what it permits, in milliseconds: kubeadm's is started again when it is not ready by then. */
const START_LIMIT_MS = 240_000;

/**
 * Besides what may be tried again, and denials of a server that has not read its roles yet: credentials that somebody may renew, and answers of a
 * proxy while the API server behind it restarts.
 */
const RETRIABLE: ReadonlySet<KubeReason> = new Set(["unauthorized", "unexpected"]);

/** Tells what may be tried again from what no retry can fix: a denial, too, that goes on for longer than any server starts. */
export class Patience {
  readonly #clock: Clock;
  /** Since when there have been denials alone, by the monotonic clock. */
  #deniedSince: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Notes that something else than a denial has come: the server knows its roles, or starts anew. */
  onOther(): void {
    this.#deniedSince = undefined;
  }

  /** @throws what no retry can fix */
  requireRetriable(thrown: unknown): KubeError {
    if (!(thrown instanceof KubeError)) throw thrown;
    const { doubted, kind, reason } = thrown;
    if (doubted === undefined) {
      this.onOther();
      if (kind === "tryAgainLater" || RETRIABLE.has(reason)) return thrown;
      throw thrown;
    }
    this.#deniedSince ??= this.#clock.monotonic();
    if (this.#clock.monotonic() - this.#deniedSince >= START_LIMIT_MS) throw doubted;
    return thrown;
  }
}
