/** What all searches of one plan share. */

import type { CompleteIPAMConfigurationSpec } from "../../api/ipam-configuration.ts";
import type { Address } from "../../lib/ip/address.ts";
import type { PrefixSet } from "../../lib/ip/prefix-set.ts";
import type { Prefix } from "../../lib/ip/prefix.ts";
import type { Moment } from "../block.ts";
import type { Draft } from "../draft.ts";
import type { Facts } from "../facts.ts";
import type { Pool, PoolTable } from "../pools.ts";

/** Made once for a plan. Searches change the draft alone, and add to `defects`. */
export interface PlanContext {
  readonly facts: Facts;
  readonly configuration: CompleteIPAMConfigurationSpec;
  readonly pools: PoolTable;
  readonly reserved: PrefixSet;
  readonly moment: Moment;
  /** Gets a sentence for each pool and reservation that counts for nothing, because it makes no sense. */
  readonly defects: Set<string>;
  /** Where a node's searches begin. */
  readonly spreadFor: (node: string) => bigint;
}

/** What a search gives. */
export interface TakenAddress {
  readonly address: Address;
  /** CIDR of its block. */
  readonly block: Prefix;
  readonly pool: Pool;
  /** With the address taken. */
  readonly draft: Draft;
}
