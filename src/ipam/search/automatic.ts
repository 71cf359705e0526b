/** Finds an address for a request that names none. */

import { DEFAULT_MAX_BLOCKS_PER_HOST } from "../../api/ipam-configuration.ts";
import type { Family } from "../../lib/ip/address.ts";
import { containsPrefix, toPrefixText } from "../../lib/ip/prefix.ts";
import { quote } from "../../lib/quote.ts";
import { newBlock } from "../block.ts";
import { blockAt, type Draft, type DraftBlock, ownBlocks } from "../draft.ts";
import { know } from "../facts.ts";
import type { AddressRequest } from "../request.ts";
import { noAddressLeft } from "./exhausted.ts";
import { claimsNear, findFreeBlock } from "./free-block.ts";
import { byBorrowing, fromEmptyBlock } from "./others-blocks.ts";
import { type PoolSelection, selectPools } from "./pool-selection.ts";
import { freeOrdinalsOf, give, noteCoolingDown, poolsAfter, type Search, usableOrdinal } from "./search.ts";
import type { TakenAddress, PlanContext } from "./plan-context.ts";

/** How many of the node's blocks a message names. */
const SHOWN_BLOCKS = 4;

/**
 * Takes one address of a family for an attachment that has none of it yet.
 *
 * @throws {NetplugError} poolUnusable, noAddressLeft
 * @throws {FactsWanted} what must be read first
 */
export function takeAutomatic(request: AddressRequest, family: Family, context: PlanContext, draft: Draft): TakenAddress {
  const { node } = request.owner;
  const selection = selectFor(request, family, context);
  const own = ownBlocks(context.facts, draft, node);
  const spread = context.spreadFor(node);
  const first: Search = {
    request,
    family,
    context,
    draft,
    pools: selection.usable,
    own,
    spread,
    coolingDown: new Map(),
    coolingDownBlocks: new Set(),
  };
  const atOnce = fromOwnBlocks(first);
  if (atOnce !== undefined) return atOnce;
  const search = whyNoClaim(first) === undefined ? withLaterBlocks(first) : first;
  const noClaim = whyNoClaim(search);
  const found =
    fromOwnBlocks(search) ??
    (noClaim === undefined ? (fromFreeBlock(search) ?? fromEmptyBlock(search)) : undefined) ??
    (context.configuration.strictAffinity ? undefined : byBorrowing(search));
  if (found !== undefined) return found;
  for (const { block } of search.own) noteCoolingDown(search, block.cidr, freeOrdinalsOf(block));
  throw noAddressLeft({ ...search, refused: selection.refused, noClaim });
}

function selectFor(request: AddressRequest, family: Family, { facts, pools, defects }: PlanContext): PoolSelection {
  const { node } = request.owner;
  const nodeLabels = know(facts, { type: "get", ref: { kind: "Node", name: node } })?.value.metadata.labels ?? {};
  const selection = selectPools(pools, { ...request, family, node, nodeLabels }, request.pools[family], request.namedBy?.[family]);
  for (const { name, reason, isDefect } of selection.refused) if (isDefect) defects.add(`pool ${quote(name)} is left out: ${reason}`);
  return selection;
}

/** Takes from the pool's block whose next address has been free for longest, so that released addresses are reused last. */
function fromOwnBlocks(search: Search): TakenAddress | undefined {
  for (const pool of search.pools) {
    let best: { readonly from: DraftBlock; readonly ordinal: number; readonly releasedAt: number } | undefined;
    for (const from of search.own) {
      if (!containsPrefix(pool.cidr, from.block.cidr)) continue;
      const ordinal = usableOrdinal(search, from);
      if (ordinal === undefined) continue;
      const releasedAt = from.block.releasedAt.get(ordinal) ?? 0;
      if (best === undefined || releasedAt < best.releasedAt) best = { from, ordinal, releasedAt };
    }
    if (best !== undefined) return give(search, pool, best.from, best.ordinal);
  }
  return undefined;
}

/**
 * Adds what other processes of the node have claimed since its blocks were read. On Kubernetes each query is a request of its own, and the
 * slots are asked for last: without this, pods that start together on a new node would claim a block each.
 */
function withLaterBlocks(search: Search): Search {
  const { context, draft, pools, spread, request, own } = search;
  const { facts, reserved } = context;
  const known = new Set(own.map(({ block }) => toPrefixText(block.cidr)));
  // Only the pools whose slots a new block would have read in one round anyway.
  const later = poolsAfter(pools, 0);
  const claims = [...pools.slice(0, 1), ...later].flatMap((pool) => claimsNear(pool, { facts, reserved, spread }, later));
  const ours = claims.filter(({ cidr, node }) => node === request.owner.node && !known.has(toPrefixText(cidr)));
  const found = ours.map((ref) => blockAt(facts, draft, ref, ours)).filter((block) => block !== undefined);
  const further = found.filter(({ block }) => block.node === request.owner.node);
  return further.length === 0 ? search : { ...search, own: [...own, ...further] };
}

/** Why the node may not have another block of this family; undefined when it may. */
function whyNoClaim({ request, family, context: { configuration }, own }: Search): string | undefined {
  if (!configuration.autoAllocateBlocks) return "autoAllocateBlocks is off";
  const limit = configuration.maxBlocksPerHost === 0 ? DEFAULT_MAX_BLOCKS_PER_HOST : configuration.maxBlocksPerHost;
  const ofFamily = own.filter(({ block }) => block.cidr.family === family);
  if (ofFamily.length < limit) return undefined;
  // Those of disabled pools count, too.
  const shown = ofFamily.slice(0, SHOWN_BLOCKS).map(({ block }) => toPrefixText(block.cidr));
  if (shown.length < ofFamily.length) shown.push("…");
  return `node "${request.owner.node}" has ${ofFamily.length} of at most ${limit} blocks (${shown.join(", ")})`;
}

function fromFreeBlock(search: Search): TakenAddress | undefined {
  const { context, draft, pools, spread, request } = search;
  const { facts, reserved } = context;
  const taken = new Set(draft.keys());
  for (const [i, pool] of pools.entries()) {
    const cidr = findFreeBlock(pool, { facts, reserved, taken, spread }, poolsAfter(pools, i));
    if (cidr === undefined) continue;
    const claimed = { stored: undefined, block: newBlock(cidr, request.owner.node, context.moment.now) };
    const ordinal = usableOrdinal(search, claimed);
    if (ordinal !== undefined) return give(search, pool, claimed, ordinal);
  }
  return undefined;
}
