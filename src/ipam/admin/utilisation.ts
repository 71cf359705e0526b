/** How full pools and blocks are. */

import type { Block } from "../../api/ipam-block.ts";
import type { Datastore } from "../../datastore/datastore.ts";
import {
  addressAt,
  comparePrefixes,
  containsAddress,
  containsPrefix,
  overlaps,
  type Prefix,
  sizeOf,
  tryParsePrefix,
} from "../../lib/ip/prefix.ts";
import type { PrefixSet } from "../../lib/ip/prefix-set.ts";
import { IP_POOLS, IP_RESERVATIONS } from "../cluster.ts";
import { toReservedSet } from "../reservations.ts";
import { type AllBlocks, readAllBlocks } from "./blocks.ts";

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

export interface BlockUtilisation {
  readonly cidr: Prefix;
  readonly node: string;
  readonly total: number;
  readonly inUse: number;
  /** Of those in use: how many are held by other nodes. */
  readonly borrowed: number;
}

export interface Utilisation {
  /** By CIDR. */
  readonly pools: readonly PoolUtilisation[];
  /** By CIDR; blocks outside of every pool as well. */
  readonly blocks: readonly BlockUtilisation[];
  /** Blocks that are counted nowhere, because their record is corrupt or missing: `ipam check` says more. */
  readonly unread: AllBlocks["corrupt"];
}

/** An address that a node holds in another node's block. */
export interface BorrowedAddress {
  readonly block: Block;
  readonly allocation: Block["allocations"][number];
}

/** Reads pools, reservations and every block. */
export async function readUtilisation(datastore: Datastore): Promise<Utilisation> {
  const [pools, reservations] = await datastore.read([IP_POOLS, IP_RESERVATIONS]);
  const { blocks, corrupt } = await readAllBlocks(datastore);
  const reserved = toReservedSet(reservations);
  const used = pools.flatMap(({ value }): PoolUtilisation[] => {
    const cidr = tryParsePrefix(String((value.spec as { readonly cidr?: unknown } | undefined)?.cidr));
    return cidr === undefined ? [] : [utilisationOf(value.metadata.name, cidr, blocks, reserved)];
  });
  return { pools: used.sort((a, b) => comparePrefixes(a.cidr, b.cidr)), blocks: blocks.map(toBlockUtilisation), unread: corrupt };
}

/** Every borrowed address of some blocks. */
export function borrowedIn(blocks: readonly Block[]): readonly BorrowedAddress[] {
  return blocks.flatMap((block) =>
    block.allocations.filter(({ owner }) => owner.node !== block.node).map((allocation): BorrowedAddress => ({ block, allocation })),
  );
}

function utilisationOf(name: string, cidr: Prefix, blocks: readonly Block[], reservedSet: PrefixSet): PoolUtilisation {
  let inUse = 0n;
  let usedReservations = 0n;
  for (const block of blocks) {
    if (!overlaps(cidr, block.cidr)) continue;
    const isWhole = containsPrefix(cidr, block.cidr);
    if (isWhole && reservedSet.countIn(block.cidr) === 0n) {
      inUse += BigInt(block.allocations.length);
      continue;
    }
    for (const { ordinal } of block.allocations) {
      const address = addressAt(block.cidr, ordinal);
      if (!isWhole && !containsAddress(cidr, address)) continue;
      inUse++;
      if (reservedSet.has(address)) usedReservations++;
    }
  }
  const total = sizeOf(cidr);
  const reserved = reservedSet.countIn(cidr) - usedReservations;
  return { name, cidr, total, inUse, reserved, free: total - inUse - reserved };
}

function toBlockUtilisation(block: Block): BlockUtilisation {
  const { cidr, node, allocations, free } = block;
  return { cidr, node, total: allocations.length + free.length, inUse: allocations.length, borrowed: borrowedIn([block]).length };
}
