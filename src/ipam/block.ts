/** One block as an unchanging value: giving, releasing, cooling down, taking over. */

import type { Allocation, AllocationOwner, AttachmentId, Block } from "../api/ipam-block.ts";
import { WIDTH } from "../lib/ip/address.ts";
import type { Prefix } from "../lib/ip/prefix.ts";

/** A moment, and how long a released address cools down. All in seconds. */
export interface Moment {
  /** Since 1970. */
  readonly now: number;
  /** 0: a released address may be given at once, when its turn comes. */
  readonly cooldown: number;
}

/** A block that a node claims: nothing is allocated yet. */
export function newBlock(cidr: Prefix, node: string, now: number): Block {
  const size = blockSize(cidr);
  return { cidr, node, allocations: [], free: Array.from({ length: size }, (_, i) => i), releasedAt: new Map(), emptySince: now };
}

/** How many addresses a block of this CIDR has; blocks are small enough for a plain number. */
export function blockSize(cidr: Prefix): number {
  return 2 ** (WIDTH[cidr.family] - cidr.length);
}

/**
 * The ordinal that is given next: the first of the queue that is neither cooling down nor reserved. Those that are skipped
 * keep their place.
 */
export function nextOrdinal(block: Block, moment: Moment, isReserved: (ordinal: number) => boolean): number | undefined {
  return block.free.find((ordinal) => !isCoolingDown(block, ordinal, moment) && !isReserved(ordinal));
}

/** Whether an address cools down after its release. */
export function isCoolingDown(block: Block, ordinal: number, moment: Moment): boolean {
  return isWithinCooldown(block.releasedAt.get(ordinal), moment);
}

/**
 * Whether an address released in that second still cools down. Times are cut to whole seconds, so one more second must begin.
 */
export function isWithinCooldown(releasedAt: number | undefined, { now, cooldown }: Moment): boolean {
  return releasedAt !== undefined && cooldown > 0 && now <= releasedAt + cooldown;
}

/** Gives a free address to an owner. */
export function take(block: Block, ordinal: number, owner: AllocationOwner, now: number): Block {
  const releasedAt = withoutFuture(block, now);
  releasedAt.delete(ordinal);
  const allocations = [...block.allocations, { ordinal, owner, since: now }].sort((a, b) => a.ordinal - b.ordinal);
  return { ...block, allocations, free: block.free.filter((other) => other !== ordinal), releasedAt, emptySince: undefined };
}

/** What a release leaves, and what it released. */
export interface Release {
  readonly block: Block;
  readonly released: readonly Allocation[];
}

/** Releases every allocation for which `isTarget` holds: their addresses go to the end of the queue, in the order of their ordinals. */
export function release(block: Block, isTarget: (allocation: Allocation) => boolean, { now, cooldown }: Moment): Release {
  const released = block.allocations.filter(isTarget);
  if (released.length === 0) return { block, released };
  const ordinals = new Set(released.map(({ ordinal }) => ordinal));
  const allocations = block.allocations.filter(({ ordinal }) => !ordinals.has(ordinal));
  const releasedAt = withoutFuture(block, now);
  for (const ordinal of ordinals) releasedAt.set(ordinal, now);
  const emptySince = allocations.length === 0 ? cooledDownAt(now, releasedAt, cooldown) : undefined;
  return { block: { ...block, allocations, free: [...block.free, ...ordinals], releasedAt, emptySince }, released };
}

/** Whether nothing is allocated and nothing cools down: then another node may have it. */
export function isEmpty(block: Block, { now, cooldown }: Moment): boolean {
  return block.emptySince !== undefined && hasBegun(block.emptySince, now) && cooledDownAt(0, block.releasedAt, cooldown) <= now;
}

/** Longer than any cool-down lasts, and than a block must be empty to be deleted: in seconds. */
const FAR_AHEAD = 3_600;

/**
 * Whether the second from which a block counts as empty has come. A second further in the future than any cool-down was written by a node with a
 * wrong clock, and counts as past: otherwise the block would be lost until then.
 */
export function hasBegun(emptySince: number, now: number): boolean {
  return emptySince <= now || emptySince > now + FAR_AHEAD;
}

/** Gives a block to another node, with its order of reuse. */
export function moveTo(block: Block, node: string): Block {
  return { ...block, node };
}

/** Whether an owner is this attachment. */
export function isSameAttachment(owner: AllocationOwner, id: AttachmentId): boolean {
  return owner.containerID === id.containerID && owner.network === id.network && owner.ifName === id.ifName;
}

/** Addresses that a node with a clock far ahead has released cool down from now on: otherwise they would be lost until then. */
function withoutFuture({ releasedAt }: Block, now: number): Map<number, number> {
  return new Map([...releasedAt].map(([ordinal, at]) => [ordinal, at > now + FAR_AHEAD ? now : at]));
}

/** The second in which the last address of an empty block has cooled down, or `atLeast`. */
export function cooledDownAt(atLeast: number, releasedAt: ReadonlyMap<number, number>, cooldown: number): number {
  if (cooldown <= 0) return atLeast;
  let end = atLeast;
  for (const at of releasedAt.values()) end = Math.max(end, at + cooldown + 1);
  return end;
}
