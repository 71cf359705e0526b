/** Says why no address is left, pool by pool. */

import { NetplugError } from "../lib/errors.ts";
import type { Family } from "../lib/ip/address.ts";
import { containsPrefix, parsePrefix, sizeOf, subnetCount, toPrefixText } from "../lib/ip/prefix.ts";
import { quote } from "../lib/quote.ts";
import type { Pool, RefusedPool } from "./pools.ts";
import type { Situation } from "./situation.ts";

/** What was sought in vain. */
export interface Exhaustion {
  readonly family: Family;
  readonly node: string;
  readonly situation: Situation;
  /** Those that could be used. */
  readonly pools: readonly Pool[];
  readonly refused: readonly RefusedPool[];
  /** Why the node could have no further block; undefined: it could. */
  readonly noClaim: string | undefined;
  /** How many addresses are known to rest after their release, by the CIDR of their block. */
  readonly resting: ReadonlyMap<string, number>;
}

/** Error 101. */
export function noAddressLeft(exhaustion: Exhaustion): NetplugError {
  const { family, node, pools, refused } = exhaustion;
  const reasons = [
    ...pools.map((pool) => `pool ${quote(pool.name)} (${toPrefixText(pool.cidr)}): ${whyNothingLeft(pool, exhaustion)}`),
    ...refused.map(({ name, reason }) => `pool ${quote(name)}: ${reason}`),
  ];
  const why = reasons.length > 0 ? reasons.join("; ") : `there is no IPv${family} pool; create one with "netplugctl create"`;
  return new NetplugError("noAddressLeft", `allocate an IPv${family} address on node ${quote(node)}: no address left: ${why}`);
}

function whyNothingLeft(pool: Pool, exhaustion: Exhaustion): string {
  const { noClaim, situation } = exhaustion;
  const { configuration, reserved } = situation;
  if (reserved.covers(pool.cidr)) return "all its addresses are reserved";
  const reservedCount = reserved.countIn(pool.cidr);
  if (configuration.strictAffinity) {
    const places = subnetCount(pool.cidr, pool.blockLength);
    const noBlock =
      noClaim ?? `none of its ${places} blocks is free${reservedCount === 0n ? "" : ` (${reservedCount} addresses are reserved)`}`;
    return `nothing left in the node's own blocks, ${noBlock}, and strictAffinity forbids to use other nodes' blocks`;
  }
  if (noClaim !== undefined) return `nothing left in any claimed block, and ${noClaim}`;
  const total = sizeOf(pool.cidr);
  const resting = countResting(pool, exhaustion);
  const rest = resting === 0 ? "" : `, or cool down after their release (at least ${resting} of them)`;
  if (reservedCount > 0n) return `full: all ${total} addresses are in use${rest} or reserved (${reservedCount} of them)`;
  return `full: all ${total} addresses are in use${rest}`;
}

/** Addresses of a pool that nothing but their cool-down keeps from being given. */
function countResting({ cidr }: Pool, { resting }: Exhaustion): number {
  let count = 0;
  for (const [text, some] of resting) if (containsPrefix(cidr, parsePrefix(text))) count += some;
  return count;
}
