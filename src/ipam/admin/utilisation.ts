/** How full pools and blocks are. */

import type { IPPoolSpec } from "../../api/ip-pool.ts";
import type { AllocationOwner, Block, BlockRef } from "../../api/ipam-block.ts";
import type { Datastore } from "../../datastore/datastore.ts";
import type { Address } from "../../lib/ip/address.ts";
import { addressAt, comparePrefixes, containsAddress, containsPrefix, overlaps, type Prefix, sizeOf } from "../../lib/ip/prefix.ts";
import type { PrefixSet } from "../../lib/ip/prefix-set.ts";
import type { Clock } from "../../lib/ports.ts";
import { isCoolingDown, type Moment } from "../block.ts";
import { IP_POOLS, IP_RESERVATIONS, IPAM_CONFIGURATION, momentOf } from "../cluster.ts";
import { toFacts } from "../facts.ts";
import { toReservedSet } from "../reservations.ts";
import { readBlockByBlock, type UncountedBlock } from "./blocks/blocks.ts";
import { DamageList } from "./blocks/damage-list.ts";
import { cidrOfPool } from "./pools/pool-cidr.ts";
import { type PoolWarning, poolWarnings } from "./pools/pool-warnings.ts";

/** Numbers of addresses are exact, however large the pool. */
export interface PoolUtilisation {
  readonly name: string;
  readonly cidr: Prefix;
  readonly total: bigint;
  readonly inUse: bigint;
  /** Reserved and not in use. */
  readonly reserved: bigint;
  /** `total` − `inUse` − `reserved`. */
  readonly free: bigint;
}

/** How full one block is. Numbers are of addresses. */
export interface BlockUtilisation {
  readonly cidr: Prefix;
  readonly node: string;
  readonly total: number;
  readonly inUse: number;
  /** How many of those in use other nodes have. */
  readonly borrowed: number;
}

/** What `ipam show` prints. */
export interface Utilisation {
  /** By CIDR. */
  readonly pools: readonly PoolUtilisation[];
  /** By CIDR; blocks outside of every pool as well. */
  readonly blocks: readonly BlockUtilisation[];
  /** Blocks that are counted nowhere, because their record is corrupt, missing or not claimed: `ipam check` says more. */
  readonly uncounted: readonly UncountedBlock[];
  /** Pools and reservations that cannot be read, and why. */
  readonly unread: readonly string[];
  /** Names of pools that are disabled: nobody gets their free addresses. */
  readonly disabled: ReadonlySet<string>;
  /** How many of a pool's free addresses cool down after their release, by its name: nobody gets those yet. Only pools that have any. */
  readonly coolingDown: ReadonlyMap<string, bigint>;
  /** Pools whose free addresses nobody gets, although they are not disabled. */
  readonly warnings: readonly PoolWarning[];
}

/** An address that a node holds in another node's block. */
export interface BorrowedAddress {
  readonly block: BlockRef;
  readonly address: Address;
  readonly owner: AllocationOwner;
}

/** Reads pools, reservations, the settings and every block. */
export async function readUtilisation(datastore: Datastore, clock: Pick<Clock, "now">): Promise<Utilisation> {
  const damage = new DamageList();
  const queries = [IP_POOLS, IP_RESERVATIONS, IPAM_CONFIGURATION] as const;
  const answers = await datastore.read(queries, damage);
  const [stored, reservations] = answers;
  const moment = momentOf(toFacts(queries, answers), Math.floor(clock.now() / 1_000));
  const reserved = toReservedSet(reservations);
  const pools = stored.flatMap(({ value }): PoolCount[] => {
    const cidr = cidrOfPool(value);
    return cidr === undefined ? [] : [{ name: value.metadata.name, cidr, inUse: 0n, usedReservations: 0n, coolingDown: 0n }];
  });
  const blocks: BlockUtilisation[] = [];
  const uncounted: UncountedBlock[] = [];
  for await (const found of readBlockByBlock(datastore)) {
    if (!("block" in found)) {
      uncounted.push(found);
      continue;
    }
    for (const pool of pools) {
      countBlock(pool, found.block, reserved);
      countCoolingDown(pool, found.block, reserved, moment);
    }
    blocks.push(toBlockUtilisation(found.block));
  }
  blocks.sort((a, b) => comparePrefixes(a.cidr, b.cidr));
  const used = pools.map((pool) => toPoolUtilisation(pool, reserved)).sort((a, b) => comparePrefixes(a.cidr, b.cidr));
  const disabled = new Set(
    stored.flatMap(({ value: { metadata, spec } }) => ((spec as IPPoolSpec).disabled === true ? [metadata.name] : [])),
  );
  return {
    pools: used,
    blocks,
    uncounted,
    unread: damage.all.map(({ reason }) => reason),
    disabled,
    coolingDown: new Map(pools.flatMap(({ name, coolingDown }) => (coolingDown === 0n ? [] : [[name, coolingDown] as const]))),
    warnings: poolWarnings(stored),
  };
}

/** Every borrowed address of the cluster. */
export async function readBorrowedAddresses(
  datastore: Datastore,
): Promise<{ readonly borrowed: readonly BorrowedAddress[]; readonly uncounted: readonly UncountedBlock[] }> {
  const borrowed: BorrowedAddress[] = [];
  const uncounted: UncountedBlock[] = [];
  for await (const found of readBlockByBlock(datastore)) {
    if (!("block" in found)) {
      uncounted.push(found);
      continue;
    }
    const { cidr, node, allocations } = found.block;
    for (const { ordinal, owner } of allocations) {
      if (owner.node !== node) borrowed.push({ block: { cidr, node }, address: addressAt(cidr, ordinal), owner });
    }
  }
  borrowed.sort((a, b) => comparePrefixes(a.block.cidr, b.block.cidr));
  return { borrowed, uncounted };
}

/** What is counted of a pool, block by block. */
interface PoolCount {
  readonly name: string;
  readonly cidr: Prefix;
  inUse: bigint;
  /** Reserved addresses among those in use. */
  usedReservations: bigint;
  coolingDown: bigint;
}

function countBlock(pool: PoolCount, block: Block, reservedSet: PrefixSet): void {
  if (!overlaps(pool.cidr, block.cidr)) return;
  const isWhole = containsPrefix(pool.cidr, block.cidr);
  if (isWhole && reservedSet.countIn(block.cidr) === 0n) {
    pool.inUse += BigInt(block.allocations.length);
    return;
  }
  for (const { ordinal } of block.allocations) {
    const address = addressAt(block.cidr, ordinal);
    if (!containsAddress(pool.cidr, address)) continue;
    pool.inUse++;
    if (reservedSet.has(address)) pool.usedReservations++;
  }
}

function countCoolingDown(pool: PoolCount, block: Block, reservedSet: PrefixSet, moment: Moment): void {
  for (const ordinal of block.releasedAt.keys()) {
    if (!isCoolingDown(block, ordinal, moment)) continue;
    const address = addressAt(block.cidr, ordinal);
    if (containsAddress(pool.cidr, address) && !reservedSet.has(address)) pool.coolingDown++;
  }
}

function toPoolUtilisation({ name, cidr, inUse, usedReservations }: PoolCount, reservedSet: PrefixSet): PoolUtilisation {
  const total = sizeOf(cidr);
  const reserved = reservedSet.countIn(cidr) - usedReservations;
  return { name, cidr, total, inUse, reserved, free: total - inUse - reserved };
}

function toBlockUtilisation({ cidr, node, allocations, free }: Block): BlockUtilisation {
  const borrowed = allocations.filter(({ owner }) => owner.node !== node).length;
  return { cidr, node, total: allocations.length + free.length, inUse: allocations.length, borrowed };
}
