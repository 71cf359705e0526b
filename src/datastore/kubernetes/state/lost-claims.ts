/**
 * Blocks that we tried to claim when others already had. A list may be too old to show such a block, or never show it, if somebody removed
 * its labels by hand; without this, the next try would take the same slot for free again.
 */

import { ExpiringMap } from "../../../lib/expiring-map.ts";
import { overlaps, type Prefix, toPrefixText } from "../../../lib/ip/prefix.ts";
import type { Clock } from "../../../lib/ports.ts";

/** Milliseconds after which lists show every new block that they can show. */
const LIFETIME_MS = 5_000;

/** No process loses more claims in that time. */
const MAX_CLAIMS = 10_000;

/** Slots that a try must not take for free again; one process remembers them for some seconds. */
export class LostClaims {
  readonly #claims: ExpiringMap<Prefix>;

  constructor(clock: Clock) {
    this.#claims = new ExpiringMap(clock, { lifetimeMs: LIFETIME_MS, most: MAX_CLAIMS });
  }

  add(cidr: Prefix): void {
    this.#claims.set(toPrefixText(cidr), cidr);
  }

  /** Those that overlap a prefix. */
  findIn(within: Prefix): readonly Prefix[] {
    return this.#claims.values().filter((cidr) => overlaps(cidr, within));
  }
}
