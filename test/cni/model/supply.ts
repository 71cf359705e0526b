/** From where automatic addresses may come: the rules of claiming, taking over and borrowing, as the contract has them. */

import { addressesIn, type Family, familyOf, haveCommon, partsOf } from "../../support/ip-arithmetic.ts";
import type { BlockView } from "./oracle.ts";
import type { NodeName, PoolSpec, State } from "./state.ts";

/** Where an automatic address may come from, best first: the first that is not empty must be used. */
export interface Supply {
  readonly own: readonly string[];
  readonly unclaimed: readonly string[];
  readonly emptied: readonly string[];
  readonly borrowed: readonly string[];
}

/**
 * What some pools have for a node.
 *
 * @param blocks as they are stored now
 */
export function supplyOf(state: State, node: NodeName, pools: readonly PoolSpec[], blocks: readonly BlockView[], family: Family): Supply {
  const { strictAffinity, maxBlocksPerHost, autoAllocateBlocks } = state.settings;
  const owned = blocks.filter((block) => block.node === node && familyOf(block.cidr) === family).length;
  const mayClaim = autoAllocateBlocks && owned < (maxBlocksPerHost || 20);
  const free = (cidr: string, allocated?: BlockView["allocated"]): readonly string[] =>
    addressesIn(cidr).filter((address) => allocated?.has(address) !== true && !state.isReserved(address));
  const supply = { own: [] as string[], unclaimed: [] as string[], emptied: [] as string[], borrowed: [] as string[] };
  for (const pool of pools) {
    const claimed = blocks.filter(({ cidr }) => haveCommon(cidr, pool.cidr));
    for (const { cidr, node: holder, allocated } of claimed) {
      const left = free(cidr, allocated);
      if (holder === node) supply.own.push(...left);
      else if (allocated.size === 0 && mayClaim) supply.emptied.push(...left);
      else if (!strictAffinity) supply.borrowed.push(...left);
    }
    // of the first pool that has one
    if (!mayClaim || supply.unclaimed.length > 0) continue;
    const places = partsOf(pool.cidr, pool.blockSize).filter((place) => !claimed.some(({ cidr }) => haveCommon(cidr, place)));
    supply.unclaimed.push(...places.flatMap((place) => free(place)));
  }
  return supply;
}
