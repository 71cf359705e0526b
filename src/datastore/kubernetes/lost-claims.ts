/**
 * Blocks that others were quicker to claim, known by the refusal: a list may be too old to show them, or never show one whose labels
 * somebody took away by hand. Without them the next try would find the same place free again.
 */

import { overlaps, type Prefix, toPrefixText } from "../../lib/ip/prefix.ts";
import type { Clock } from "../../lib/ports.ts";

/** After so many milliseconds lists show what can be shown, and whoever looks begins anew. */
const LIFETIME_MS = 5_000;

export class LostClaims {
  readonly #clock: Clock;
  readonly #claims = new Map<string, { readonly cidr: Prefix; readonly at: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  note(cidr: Prefix): void {
    for (const [text, { at }] of this.#claims) if (at < this.#from()) this.#claims.delete(text);
    this.#claims.set(toPrefixText(cidr), { cidr, at: this.#clock.monotonic() });
  }

  /** Those that overlap a prefix. */
  findIn(within: Prefix): readonly Prefix[] {
    return [...this.#claims.values()].filter(({ cidr, at }) => at >= this.#from() && overlaps(cidr, within)).map(({ cidr }) => cidr);
  }

  /** What was noted before is forgotten. */
  #from(): number {
    return this.#clock.monotonic() - LIFETIME_MS;
  }
}
