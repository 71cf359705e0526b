/** Says why no address is left, pool by pool. */

import { NetplugError } from "../../lib/errors.ts";
import type { Family } from "../../lib/ip/address.ts";
import { containsPrefix, parsePrefix, sizeOf, subnetCount } from "../../lib/ip/prefix.ts";
import { quote } from "../../lib/quote.ts";
import { toOriginText } from "../owner-text.ts";
import { type Pool, type RefusedPool, toPoolText } from "../pools.ts";
import type { AddressRequest } from "../request.ts";
import type { PlanContext } from "./plan-context.ts";

/** What was sought in vain. */
export interface Exhaustion {
  readonly request: AddressRequest;
  readonly family: Family;
  readonly context: PlanContext;
  /** Those that could be used. */
  readonly pools: readonly Pool[];
  readonly refused: readonly RefusedPool[];
  /** Why the node could have no further block; undefined: it could. */
  readonly noClaim: string | undefined;
  /** How many addresses are known to cool down after their release, by the CIDR of their block. */
  readonly coolingDown: ReadonlyMap<string, number>;
  /** CIDRs of other nodes' blocks that are empty and cannot be taken over before their addresses have cooled down. */
  readonly coolingDownBlocks: ReadonlySet<string>;
}

/** Error 101. */
export function noAddressLeft(exhaustion: Exhaustion): NetplugError {
  const { request, family, pools, refused } = exhaustion;
  const { owner, namedBy } = request;
  const reasons = [
    ...pools.map((pool) => `pool ${toPoolText(pool)}: ${whyNothingLeft(pool, exhaustion)}`),
    ...refused.map(({ name, reason }) => `pool ${quote(name)}: ${reason}`),
  ];
  const why = reasons.length > 0 ? reasons.join("; ") : noPool(exhaustion);
  // Who asks for the family is to blame only where the pod can use no pool of it at all.
  const familyBy = pools.length === 0 ? namedBy?.families : undefined;
  const origin = toOriginText(namedBy?.[family], "no other pool") + toOriginText(familyBy, `IPv${family}`);
  return new NetplugError(
    "noAddressLeft",
    `allocate an IPv${family} address on node ${quote(owner.node)}: no address left: ${why}${origin}`,
  );
}

/** In a cluster of one family it is the config that asks for the wrong one, by default for IPv4, unless it is an annotation. */
function noPool({ request, family, context }: Exhaustion): string {
  const text = `there is no IPv${family} pool; create one with "netplugctl create"`;
  if (context.pools.pools.length === 0 || request.namedBy?.families !== undefined) return text;
  return `${text}, or have pods get IPv${family === 4 ? 6 : 4} alone: assign_ipv4 "${family === 6}", assign_ipv6 "${family === 4}"`;
}

function whyNothingLeft(pool: Pool, exhaustion: Exhaustion): string {
  const { noClaim, context } = exhaustion;
  const { configuration, reserved } = context;
  if (reserved.covers(pool.cidr)) return "all its addresses are reserved";
  const cooling = countCoolingDown(pool, exhaustion.coolingDown);
  if (configuration.strictAffinity) {
    const own = cooling === 0 ? "" : ` (at least ${cooling} of their addresses cool down after their release)`;
    const noBlock = noClaim ?? whyNoBlock(pool, exhaustion);
    return `nothing left in the node's own blocks${own}, ${noBlock}, and strictAffinity forbids to use other nodes' blocks`;
  }
  if (noClaim !== undefined) {
    const besides = cooling === 0 ? "" : ` (at least ${cooling} of the pool's addresses cool down after their release)`;
    return `nothing left in any claimed block${besides}, and ${noClaim}`;
  }
  const total = sizeOf(pool.cidr);
  if (total === 1n) return `full: its only address ${cooling === 0 ? "is in use" : "cools down after its release"}`;
  const reservedCount = reserved.countIn(pool.cidr);
  const besides = cooling === 0 ? "" : `, or cool down after their release (at least ${cooling} of them)`;
  const orReserved = reservedCount === 0n ? "" : ` or reserved (${reservedCount} of them)`;
  return `full: all ${total} addresses are in use${besides}${orReserved}`;
}

/** For a node that may use only its own blocks: why it gets no further block. */
function whyNoBlock({ cidr, blockLength }: Pool, { context, coolingDownBlocks }: Exhaustion): string {
  const coolingDown = [...coolingDownBlocks].filter((text) => containsPrefix(cidr, parsePrefix(text))).length;
  const reserved = context.reserved.countIn(cidr);
  const count = subnetCount(cidr, blockLength);
  const resting = count === 1n ? "it is empty, but cools down" : `${coolingDown} of them are empty, but cool down`;
  const besides = [
    ...(coolingDown === 0 ? [] : [`${resting} after the last release`]),
    ...(reserved === 0n ? [] : [`${reserved} ${reserved === 1n ? "address is" : "addresses are"} reserved`]),
  ];
  const which = count === 1n ? "its only block is not free" : `none of its ${count} blocks is free`;
  return `${which}${besides.length === 0 ? "" : ` (${besides.join("; ")})`}`;
}

/** Addresses of a pool that could be given if they did not cool down. */
function countCoolingDown({ cidr }: Pool, coolingDown: Exhaustion["coolingDown"]): number {
  let count = 0;
  for (const [text, some] of coolingDown) if (containsPrefix(cidr, parsePrefix(text))) count += some;
  return count;
}
