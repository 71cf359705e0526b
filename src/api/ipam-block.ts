/** The block: the only truth about which address belongs to whom. */

import type { Prefix } from "../lib/ip/prefix.ts";

/** Names an attachment: all that a release needs. */
export interface AttachmentId {
  /** `name` of the network config. */
  readonly network: string;
  readonly containerID: string;
  readonly ifName: string;
}

/** Who holds an address. Two owners are the same attachment when all of its {@link AttachmentId} agrees. */
export interface AllocationOwner extends AttachmentId {
  /** The node on which the container runs; differs from the block's node when the address is borrowed. */
  readonly node: string;
  readonly pod?: string;
  readonly namespace?: string;
  readonly podUID?: string;
  /** Name of the `WorkloadEndpoint` written with it; absent when another main plugin asked for the address. */
  readonly endpoint?: string;
}

/** One address of a block that somebody has. */
export interface Allocation {
  /** Position in the block, counted from its first address. */
  readonly ordinal: number;
  readonly owner: AllocationOwner;
  /** When it was given, in seconds since 1970. */
  readonly since: number;
}

/** A block as the rest of the program sees it; `encodeBlock` makes the compact record of it. */
export interface Block {
  readonly cidr: Prefix;
  /** The node that owns the block. */
  readonly node: string;
  /** In ascending order of their ordinals. */
  readonly allocations: readonly Allocation[];
  /** Ordinals without an owner in their order of reuse: the first is given next, a released one goes to the end. */
  readonly free: readonly number[];
  /** When a free ordinal was released, in seconds since 1970; one that was never given is not in it. */
  readonly releasedAt: ReadonlyMap<number, number>;
  /**
   * From when on the block counts as empty, in seconds since 1970; undefined while something is allocated. In the future
   * while an address cools down.
   */
  readonly emptySince: number | undefined;
}

/** Where a block is found: the node is part of the place, and changes when another node takes it over. */
export interface BlockRef {
  readonly cidr: Prefix;
  readonly node: string;
}
