/** Gives exactly the address that somebody asked for. */

import { type ErrorName, NetplugError } from "../../lib/errors.ts";
import { type Address, toAddressText } from "../../lib/ip/address.ts";
import { containsAddress, ordinalOf, type Prefix, prefixOf, toPrefixText } from "../../lib/ip/prefix.ts";
import { quote } from "../../lib/quote.ts";
import { isEmpty, moveTo, newBlock } from "../block.ts";
import { blockOfAddress, type Draft, type DraftBlock } from "../draft.ts";
import { know } from "../facts.ts";
import { describeAllocation, toPredecessorText } from "../owner-text.ts";
import { type Pool, poolQueryOf, toPoolText } from "../pools.ts";
import type { AddressRequest } from "../request.ts";
import type { TakenAddress, PlanContext } from "./plan-context.ts";
import { whyNotUsed } from "./pool-selection.ts";
import { give, type Search } from "./search.ts";

/** One address that a request names. */
interface Wanted extends Pick<Search, "request" | "context" | "draft"> {
  readonly address: Address;
}

/**
 * Takes one address for an attachment that does not have it yet. Selectors, `assignmentMode`, reservations, the limit of
 * blocks and the cool-down are no obstacle: a request that names an address means it.
 *
 * @throws {NetplugError} addressOutsidePools, addressInUse
 * @throws {FactsWanted} what must be read first
 */
export function takeExplicit(request: AddressRequest, address: Address, context: PlanContext, draft: Draft): TakenAddress {
  const wanted: Wanted = { request, address, context, draft };
  const pool = poolOf(wanted);
  const from = blockFor(wanted, pool);
  const { block } = from;
  const ordinal = ordinalOf(block.cidr, address);
  if (ordinal === undefined) throw refusal("internal", wanted, `it is not in block "${toPrefixText(block.cidr)}"`);
  const holder = block.allocations.find((allocation) => allocation.ordinal === ordinal);
  if (holder !== undefined) {
    // A node that never comes back calls no DEL.
    const next = `if that is gone for good: netplugctl ipam release --ip=${toAddressText(address)}`;
    const whose = `${describeAllocation(holder)}${toPredecessorText(holder.owner, request.owner)}`;
    throw refusal("addressInUse", wanted, `it belongs to ${whose}; ${next}`);
  }
  return give(wanted, pool, from, ordinal);
}

function poolOf(wanted: Wanted): Pool {
  const { request, address, context } = wanted;
  const { pools, invalid } = context.pools;
  const around = pools.filter((pool) => containsAddress(pool.cidr, address));
  const whyNot = (pool: Pool): string | undefined => pool.unusable ?? whyNotUsed(pool, request.use);
  const usable = around.find((pool) => whyNot(pool) === undefined);
  if (usable !== undefined) return usable;
  const reasons = around.map((pool) => `pool ${toPoolText(pool)} cannot be used: ${whyNot(pool) ?? ""}`);
  if (reasons.length > 0) throw refusal("addressOutsidePools", wanted, reasons.join("; "));
  const { family } = address;
  const known = pools.filter(({ cidr }) => cidr.family === family).map(toPoolText);
  const choice = known.length === 0 ? `there is no IPv${family} pool` : `IPv${family} pools are ${known.join(", ")}`;
  const left = invalid.map(({ name, reason }) => `; pool ${quote(name)} is left out: ${reason}`);
  throw refusal("addressOutsidePools", wanted, `it lies in no pool; ${choice}${left.join("")}`);
}

/** The claimed block around the address, or a new one; an empty one of another node is taken over. */
function blockFor(wanted: Wanted, pool: Pool): DraftBlock {
  const { request, address, context, draft } = wanted;
  const { node } = request.owner;
  const found = blockOfAddress(context.facts, draft, address, node);
  if (found === undefined) {
    const cidr = prefixOf(address, pool.blockLength);
    refuseOverlap(wanted, pool, cidr);
    return { stored: undefined, block: newBlock(cidr, node, context.moment.now) };
  }
  const { stored, block } = found;
  if (block.node === node) return found;
  if (isEmpty(block, context.moment)) return { stored, block: moveTo(block, node) };
  const isHeld = block.allocations.some(({ ordinal }) => ordinal === ordinalOf(block.cidr, address));
  if (context.configuration.strictAffinity && !isHeld) {
    const where = `its block "${toPrefixText(block.cidr)}" belongs to node ${quote(block.node)}`;
    throw refusal("addressOutsidePools", wanted, `${where}, and strictAffinity forbids node ${quote(node)} to borrow from it`);
  }
  return found;
}

/** Blocks of another size, from before the pool was made anew, may lie where the new one would be. */
function refuseOverlap(wanted: Wanted, pool: Pool, cidr: Prefix): void {
  const [other] = know(wanted.context.facts, { type: "claimed-blocks", within: cidr, limit: 1 }, () => [poolQueryOf(pool)]);
  if (other === undefined) return;
  const overlap = `its block "${toPrefixText(cidr)}" would overlap the claimed block "${toPrefixText(other.cidr)}" of node ${quote(other.node)}`;
  throw refusal("addressOutsidePools", wanted, overlap);
}

function refusal(kind: ErrorName, { request: { namedBy }, address }: Wanted, reason: string): NetplugError {
  const origin = namedBy?.addresses === undefined ? "" : ` from ${namedBy.addresses}`;
  return new NetplugError(kind, `use address "${toAddressText(address)}"${origin}: ${reason}`);
}
