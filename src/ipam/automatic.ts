/** Finds an address for whom any address will do. */

import type { Block, BlockRef } from "../api/ipam-block.ts";
import { DEFAULT_MAX_BLOCKS_PER_HOST } from "../api/ipam-configuration.ts";
import type { Node } from "../api/node.ts";
import type { Query } from "../datastore/datastore.ts";
import type { Family } from "../lib/ip/address.ts";
import { addressAt, baseOf, containsPrefix, type Prefix, subnetAt, subnetCount, toPrefixText } from "../lib/ip/prefix.ts";
import { isEmpty, moveTo, newBlock, nextOrdinal, take } from "./block.ts";
import { blockAt, type Draft, type DraftBlock, ownBlocks, withBlock } from "./draft.ts";
import { noAddressLeft } from "./exhausted.ts";
import { know } from "./facts.ts";
import { findFreeBlock, freeBlockQueries } from "./free-block.ts";
import { type Pool, type PoolSelection, selectPools } from "./pools.ts";
import type { AddressRequest } from "./request.ts";
import { reservedIn } from "./reservations.ts";
import type { Assigned, Situation } from "./situation.ts";

/** Empty blocks asked for at first; more when none of them will do. */
const EMPTY_BLOCKS = 64;
/** Blocks with spare addresses that one round of borrowing reads. */
const SPARE_BLOCKS = 8;
/** Pools whose first queries go along with those of the pool before. */
const POOLS_AHEAD = 8;

/** One search: the request, and what it may use. */
interface Search {
  readonly request: AddressRequest;
  readonly family: Family;
  readonly situation: Situation;
  readonly draft: Draft;
  readonly pools: readonly Pool[];
  readonly own: readonly DraftBlock[];
  readonly spread: bigint;
  /** Other nodes' blocks that were looked into, for the message when nothing is found. */
  readonly lenders: Map<string, Block>;
}

/**
 * Gives one address of a family.
 *
 * @throws {NetplugError} poolUnusable, noAddressLeft
 * @throws {FactsWanted} what must be read first
 */
export function assignAutomatic(request: AddressRequest, family: Family, situation: Situation, draft: Draft): Assigned {
  const { node } = request.owner;
  const selection = selectFor(request, family, situation);
  const own = ownBlocks(situation.facts, draft, node);
  const spread = situation.spreadFor(node);
  const search: Search = { request, family, situation, draft, pools: selection.usable, own, spread, lenders: new Map() };
  const noClaim = whyNoClaim(search);
  const found =
    fromOwnBlocks(search) ??
    (noClaim === undefined ? (fromFreeBlock(search) ?? fromEmptyBlock(search)) : undefined) ??
    (situation.configuration.strictAffinity ? undefined : byBorrowing(search));
  if (found !== undefined) return found;
  const seen = [...own.map(({ block }) => block), ...search.lenders.values()];
  throw noAddressLeft({ family, node, situation, pools: selection.usable, refused: selection.refused, noClaim, seen });
}

function selectFor(request: AddressRequest, family: Family, { facts, pools }: Situation): PoolSelection {
  const { node } = request.owner;
  const stored = know(facts, { type: "get", ref: { kind: "Node", name: node } });
  const nodeLabels = (stored?.value as Node | undefined)?.metadata.labels ?? {};
  const criteria = { family, use: request.use, node, nodeLabels, namespaceLabels: request.namespaceLabels };
  return selectPools(pools, criteria, request.pools[family]);
}

/** Among a pool's blocks the one whose next address was free for longest: what was released is given last. */
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

/** Why the node may not have another block of this family; undefined when it may. */
function whyNoClaim({ request, family, situation: { configuration }, own }: Search): string | undefined {
  if (!configuration.autoAllocateBlocks) return "autoAllocateBlocks is off";
  const limit = configuration.maxBlocksPerHost === 0 ? DEFAULT_MAX_BLOCKS_PER_HOST : configuration.maxBlocksPerHost;
  const count = own.filter(({ block }) => block.cidr.family === family).length;
  return count < limit ? undefined : `node "${request.owner.node}" has ${count} of at most ${limit} blocks`;
}

function fromFreeBlock(search: Search): Assigned | undefined {
  const { situation, draft, pools, spread, request } = search;
  const taken = new Set(draft.keys());
  const queries = new Map(pools.slice(0, POOLS_AHEAD).map((pool) => [pool, freeBlockQueries(pool, spread)] as const));
  for (const [i, pool] of pools.entries()) {
    const ahead = pools.slice(i + 1).flatMap((later): readonly Query[] => queries.get(later) ?? []);
    const cidr = findFreeBlock(pool, { facts: situation.facts, reserved: situation.reserved, taken, spread }, ahead);
    if (cidr === undefined) continue;
    const claimed = { stored: undefined, block: newBlock(cidr, request.owner.node, situation.moment.now) };
    const ordinal = usableOrdinal(search, claimed);
    if (ordinal !== undefined) return give(search, pool, claimed, ordinal);
  }
  return undefined;
}

/** Takes over a block in which another node has nothing left. */
function fromEmptyBlock(search: Search): Assigned | undefined {
  const { situation, request } = search;
  for (const pool of search.pools) {
    for (const ref of emptyBlocks(search, pool)) {
      const found = blockAt(situation.facts, search.draft, ref);
      if (found === undefined || found.block.node === request.owner.node || !isEmpty(found.block, situation.moment)) continue;
      const ordinal = usableOrdinal(search, found);
      if (ordinal === undefined) continue;
      return give(search, pool, { stored: found.stored, block: moveTo(found.block, request.owner.node) }, ordinal);
    }
  }
  return undefined;
}

/** Other nodes' empty blocks of a pool, rotated so that not all nodes try the same one. */
function emptyBlocks({ situation, request, spread }: Search, pool: Pool): readonly BlockRef[] {
  const isCandidate = (ref: BlockRef & { readonly since: number }): boolean =>
    ref.node !== request.owner.node && ref.since <= situation.moment.now && isAllowed(situation, pool, ref.cidr);
  for (let limit = EMPTY_BLOCKS; ; limit *= 8) {
    const listed = know(situation.facts, { type: "empty-blocks", within: pool.cidr, limit });
    const candidates = listed.filter(isCandidate);
    if (candidates.length === 0 && listed.length >= limit) continue;
    const begin = candidates.length === 0 ? 0 : Number(spread % BigInt(candidates.length));
    return [...candidates.slice(begin), ...candidates.slice(0, begin)];
  }
}

/** Takes an address out of another node's block, which stays with that node. */
function byBorrowing(search: Search): Assigned | undefined {
  const { situation, draft, request } = search;
  for (const pool of search.pools) {
    for (const refs of spareBlocks(search, pool)) {
      const lenders = refs.filter((ref) => ref.node !== request.owner.node && isAllowed(situation, pool, ref.cidr));
      for (const ref of lenders) {
        const found = blockAt(situation.facts, draft, ref, lenders);
        if (found === undefined || found.block.node === request.owner.node) continue;
        search.lenders.set(toPrefixText(ref.cidr), found.block);
        const ordinal = usableOrdinal(search, found);
        if (ordinal !== undefined) return give(search, pool, found, ordinal);
      }
    }
  }
  return undefined;
}

/** Blocks of a pool with unallocated addresses, a few at a time, once around from the node's start. */
function* spareBlocks({ situation, spread }: Search, pool: Pool): Generator<readonly BlockRef[]> {
  const start = baseOf(subnetAt(pool.cidr, pool.blockLength, spread % subnetCount(pool.cidr, pool.blockLength)));
  const isBeforeStart = (ref: BlockRef): boolean => ref.cidr.base < start.value;
  for (const part of ["from start", "up to start"] as const) {
    let from = part === "from start" ? start : baseOf(pool.cidr);
    for (let limit = SPARE_BLOCKS; ; limit *= 2) {
      const listed = know(situation.facts, { type: "spare-blocks", within: pool.cidr, from, limit });
      yield part === "from start" ? listed : listed.filter(isBeforeStart);
      const last = listed.at(-1);
      if (last === undefined || listed.length < limit || (part === "up to start" && !isBeforeStart(last))) break;
      from = { family: from.family, value: last.cidr.base + 1n };
    }
    if (start.value === pool.cidr.base) return;
  }
}

function isAllowed({ reserved }: Situation, pool: Pool, cidr: Prefix): boolean {
  return containsPrefix(pool.cidr, cidr) && !reserved.covers(cidr);
}

function usableOrdinal({ situation }: Search, { block }: DraftBlock): number | undefined {
  if (block.free.length === 0) return undefined;
  return nextOrdinal(block, situation.moment, reservedIn(situation.reserved, block.cidr));
}

function give({ draft, request, situation }: Search, pool: Pool, { stored, block }: DraftBlock, ordinal: number): Assigned {
  const next = take(block, ordinal, request.owner, situation.moment.now);
  return { address: addressAt(block.cidr, ordinal), block: block.cidr, pool, draft: withBlock(draft, stored, next) };
}
