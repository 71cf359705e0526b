/** Who has an address, and taking it away. */

import type { Allocation } from "../../api/ipam-block.ts";
import { CLUSTER_INFORMATION } from "../../datastore/cluster-state.ts";
import type { Query } from "../../datastore/datastore.ts";
import type { Address } from "../../lib/ip/address.ts";
import { ordinalOf, type Prefix } from "../../lib/ip/prefix.ts";
import { isCoolingDown, release } from "../block.ts";
import { configurationOf, expectNotFrozen, IPAM_CONFIGURATION } from "../cluster.ts";
import { type DraftBlock, lookUpBlock, NO_DRAFT, toBlockWrites, withBlock } from "../draft.ts";
import type { Facts } from "../facts.ts";
import { type Decision, transact, type TransactPorts } from "../transact.ts";

/** What is known of one address. */
export interface AddressState {
  /** undefined: nobody has it. */
  readonly allocation: Allocation | undefined;
  /** The claimed block around it. */
  readonly block: { readonly cidr: Prefix; readonly node: string } | undefined;
  /** It was released, and rests. */
  readonly isCoolingDown: boolean;
}

/** Who has an address. */
export async function findOwner(ports: TransactPorts, address: Address): Promise<AddressState> {
  return await transact(ports, queriesFor(address), (facts, { now }): Decision<AddressState> => {
    const block = lookUpBlock(facts, NO_DRAFT, address)?.block;
    const ordinal = block === undefined ? undefined : ordinalOf(block.cidr, address);
    if (block === undefined || ordinal === undefined)
      return { writes: [], result: { allocation: undefined, block: undefined, isCoolingDown: false } };
    const moment = { now, cooldown: configurationOf(facts).ipCooldownSeconds };
    const allocation = block.allocations.find((candidate) => candidate.ordinal === ordinal);
    return { writes: [], result: { allocation, block, isCoolingDown: isCoolingDown(block, ordinal, moment) } };
  });
}

/**
 * Releases one address, whichever attachment has it.
 *
 * @returns whose it was; undefined when it was free
 */
export async function releaseAddress(ports: TransactPorts, address: Address): Promise<Allocation | undefined> {
  let before: Allocation | undefined; // free at the second look, because the reply to our first commit was lost
  return await transact(ports, queriesFor(address), (facts, { now }): Decision<Allocation | undefined> => {
    const decision = releaseFrom(lookUpBlock(facts, NO_DRAFT, address), address, facts, now);
    before = decision.result ?? before;
    return { ...decision, result: before };
  });
}

function releaseFrom(found: DraftBlock | undefined, address: Address, facts: Facts, now: number): Decision<Allocation | undefined> {
  if (found === undefined) return { writes: [], result: undefined };
  const ordinal = ordinalOf(found.block.cidr, address);
  const moment = { now, cooldown: configurationOf(facts).ipCooldownSeconds };
  const { block, released } = release(found.block, (allocation) => allocation.ordinal === ordinal, moment);
  const [allocation] = released;
  if (allocation === undefined) return { writes: [], result: undefined };
  return { writes: [expectNotFrozen(facts), ...toBlockWrites(withBlock(NO_DRAFT, found.stored, block))], result: allocation };
}

function queriesFor(address: Address): readonly Query[] {
  return [CLUSTER_INFORMATION, IPAM_CONFIGURATION, { type: "block-of-address", address }];
}
