/**
 * Blocks that others were quicker to claim, known by the refusal: a list may be too old to show them, or never show one whose labels
 * somebody took away by hand. Without them the next try would find the same place free again.
 */

import { ExpiringMap } from "../../../lib/expiring-map.ts";
import { overlaps, type Prefix, toPrefixText } from "../../../lib/ip/prefix.ts";
import type { Clock } from "../../../lib/ports.ts";

/** After so many milliseconds lists show what can be shown, and a claim that is still looking for a place begins anew. */
const LIFETIME_MS = 5_000;

/** Nobody loses so many claims in that time. */
const MOST_CLAIMS = 10_000;

export class LostClaims {
  readonly #claims: ExpiringMap<Prefix>;

  constructor(clock: Clock) {
    this.#claims = new ExpiringMap(clock, { lifetimeMs: LIFETIME_MS, most: MOST_CLAIMS });
  }

  add(cidr: Prefix): void {
    this.#claims.set(toPrefixText(cidr), cidr);
  }

  /** Those that overlap a prefix. */
  findIn(within: Prefix): readonly Prefix[] {
    return this.#claims.values().filter((cidr) => overlaps(cidr, within));
  }
}
