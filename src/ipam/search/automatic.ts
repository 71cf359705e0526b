/** Finds an address for a request that names none. */

import type { BlockRef } from "../../api/ipam-block.ts";
import { DEFAULT_MAX_BLOCKS_PER_HOST } from "../../api/ipam-configuration.ts";
import type { Query } from "../../datastore/datastore.ts";
import type { Family } from "../../lib/ip/address.ts";
import { containsPrefix, toPrefixText } from "../../lib/ip/prefix.ts";
import { quote } from "../../lib/quote.ts";
import { hasBegun, isEmpty, moveTo, newBlock } from "../block.ts";
import { blockAt, type Draft, type DraftBlock, ownBlocks } from "../draft.ts";
import { know } from "../facts.ts";
import type { Pool } from "../pools.ts";
import type { AddressRequest } from "../request.ts";
import { byBorrowing } from "./borrowing.ts";
import { noAddressLeft } from "./exhausted.ts";
import { claimsNear, findFreeBlock } from "./free-block.ts";
import { type PoolSelection, selectPools } from "./pool-selection.ts";
import { freeOrdinalsOf, give, isAllowed, noteCoolingDown, poolsAfter, type Search, usableOrdinal } from "./search.ts";
import type { Assigned, PlanContext } from "./plan-context.ts";

type Refs = readonly BlockRef[];

/** Empty blocks asked for at first; more when none of them will do. */
const EMPTY_BLOCKS = 64;

/** How many of those are read at once when the first one cannot be used. */
const EMPTY_BLOCKS_AT_ONCE = 8;

/** How many of the node's blocks a message names. */
const SHOWN_BLOCKS = 4;

/**
 * Gives one address of a family.
 *
 * @throws {NetplugError} poolUnusable, noAddressLeft
 * @throws {FactsWanted} what must be read first
 */
export function assignAutomatic(request: AddressRequest, family: Family, context: PlanContext, draft: Draft): Assigned {
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
  const stored = know(facts, { type: "get", ref: { kind: "Node", name: node } });
  const nodeLabels = stored?.value.metadata.labels ?? {};
  const criteria = { family, use: request.use, node, nodeLabels, namespaceLabels: request.namespaceLabels };
  const selection = selectPools(pools, criteria, request.pools[family], request.namedBy?.[family]);
  for (const { name, reason, isDefect } of selection.refused) if (isDefect) defects.add(`pool ${quote(name)} is left out: ${reason}`);
  return selection;
}

/** Takes from the pool's block whose next address has been free for longest, so that released addresses are reused last. */
function fromOwnBlocks(search: Search): Assigned | undefined {
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

function fromFreeBlock(search: Search): Assigned | undefined {
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

/** Takes over a block in which another node has nothing left. */
function fromEmptyBlock(search: Search): Assigned | undefined {
  for (const [i, pool] of search.pools.entries()) {
    for (const candidates of emptyBlocks(search, pool, poolsAfter(search.pools, i))) {
      for (const [at, ref] of candidates.entries()) {
        // The first one can nearly always be used; after each that cannot, more are read at once.
        const prefetch = candidates.slice(at, at === 0 ? 1 : at + Math.max(EMPTY_BLOCKS_AT_ONCE, at));
        const taken = tryTakeOver(search, pool, ref, prefetch);
        if (taken !== undefined) return taken;
      }
    }
  }
  return undefined;
}

/** @param prefetch what is read with the block, if it must be read */
function tryTakeOver(search: Search, pool: Pool, ref: BlockRef, prefetch: Refs): Assigned | undefined {
  const { context, request, draft } = search;
  const { node } = request.owner;
  const found = blockAt(context.facts, draft, ref, prefetch);
  if (found === undefined || found.block.node === node) return undefined;
  const { stored, block } = found;
  if (!isEmpty(block, context.moment)) {
    if (block.emptySince !== undefined) search.coolingDownBlocks.add(toPrefixText(ref.cidr));
    return undefined;
  }
  const ordinal = usableOrdinal(search, found);
  return ordinal === undefined ? undefined : give(search, pool, { stored, block: moveTo(block, node) }, ordinal);
}

/**
 * Other nodes' empty blocks of a pool, some at a time, rotated so that not all nodes try the same one first. Blocks that have been empty for
 * longer than a cool-down come first: in the others addresses may still cool down, if the setting was raised after they were listed. Where
 * borrowing is allowed, it ends with the first list that has candidates: addresses in further blocks can be borrowed.
 */
function* emptyBlocks({ context, request, spread, coolingDownBlocks }: Search, pool: Pool, later: readonly Pool[]): Generator<Refs> {
  const queryOf = ({ cidr }: Pool, limit: number) => ({ type: "empty-blocks", within: cidr, limit }) as const satisfies Query;
  const { now, cooldown } = context.moment;
  const seen = new Set<string>();
  for (let limit = EMPTY_BLOCKS; ; limit *= 8) {
    const listed = know(context.facts, queryOf(pool, limit), () => later.map((other) => queryOf(other, EMPTY_BLOCKS)));
    const cooled: BlockRef[] = [];
    const recent: BlockRef[] = [];
    for (const { cidr, node, since } of listed) {
      const text = toPrefixText(cidr);
      if (seen.has(text) || node === request.owner.node || !isAllowed(context, pool, cidr)) continue;
      seen.add(text);
      if (!hasBegun(since, now)) coolingDownBlocks.add(text);
      else (since + cooldown < now ? cooled : recent).push({ cidr, node });
    }
    yield rotate(cooled, spread);
    yield rotate(recent, spread);
    const hasCandidates = cooled.length + recent.length > 0;
    if (listed.length < limit || (hasCandidates && !context.configuration.strictAffinity)) return;
  }
}

function rotate(refs: Refs, spread: bigint): Refs {
  const begin = refs.length === 0 ? 0 : Number(spread % BigInt(refs.length));
  return [...refs.slice(begin), ...refs.slice(0, begin)];
}
