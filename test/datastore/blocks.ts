/** For tests: blocks, written as briefly as a test wants to name them. */

import type { Allocation, Block } from "../../src/api/ipam-block.ts";
import { sizeOf, parsePrefix } from "../../src/lib/ip/prefix.ts";

/** Who has which ordinal: the node of the container, or its node and ID. */
export type Allocated = Readonly<Record<number, string>>;

/** A block in which `allocated` ordinals belong to containers on the nodes given, since 1000; empty since 1000 when none is. */
export function makeBlock(cidr: string, node: string, allocated: Allocated = {}): Block {
  const prefix = parsePrefix(cidr);
  const ordinals = Array.from({ length: Number(sizeOf(prefix)) }, (_, ordinal) => ordinal);
  const allocations = ordinals.flatMap((ordinal): Allocation[] => {
    const holder = allocated[ordinal];
    if (holder === undefined) return [];
    return [{ ordinal, owner: { network: "net", containerID: `c${ordinal}`, ifName: "eth0", node: holder }, since: 1000 }];
  });
  return {
    cidr: prefix,
    node,
    allocations,
    free: ordinals.filter((ordinal) => allocated[ordinal] === undefined),
    releasedAt: new Map(),
    emptySince: allocations.length === 0 ? 1000 : undefined,
  };
}
