/** Who has an address, and taking it away. */

import type { Allocation } from "../../api/ipam-block.ts";
import type { Address } from "../../lib/ip/address.ts";
import { ordinalOf, type Prefix } from "../../lib/ip/prefix.ts";
import { isCoolingDown } from "../block.ts";
import { momentOf } from "../cluster.ts";
import { lookUpBlock, NO_DRAFT } from "../draft.ts";
import { addressQueries, planReleaseAt } from "../plan-release-at.ts";
import { type Decision, transact, type TransactPorts } from "../transact/transact.ts";

/** What is known of one address. */
export interface AddressState {
  /** undefined: nobody has it. */
  readonly allocation: Allocation | undefined;
  /** The claimed block around it. */
  readonly block: { readonly cidr: Prefix; readonly node: string } | undefined;
  /** It was released, and cools down to the end of this second since 1970. */
  readonly coolsUntil: number | undefined;
}

/** Who has an address. */
export async function findOwner(ports: TransactPorts, address: Address): Promise<AddressState> {
  return await transact(ports, addressQueries([address]), (facts, { now }): Decision<AddressState> => {
    const block = lookUpBlock(facts, NO_DRAFT, address)?.block;
    const ordinal = block === undefined ? undefined : ordinalOf(block.cidr, address);
    if (block === undefined || ordinal === undefined)
      return { writes: [], result: { allocation: undefined, block: undefined, coolsUntil: undefined } };
    const moment = momentOf(facts, now);
    const allocation = block.allocations.find((candidate) => candidate.ordinal === ordinal);
    const end = (block.releasedAt.get(ordinal) ?? 0) + moment.cooldown;
    return { writes: [], result: { allocation, block, coolsUntil: isCoolingDown(block, ordinal, moment) ? end : undefined } };
  });
}

/**
 * Releases one address, whichever attachment has it.
 *
 * @returns whose it was; undefined when it was free
 */
export async function releaseAddress(ports: TransactPorts, address: Address): Promise<Allocation | undefined> {
  let before: Allocation | undefined; // free at the second look, because the reply to our first commit was lost
  return await transact(ports, addressQueries([address]), (facts, { now }): Decision<Allocation | undefined> => {
    const { released, writes } = planReleaseAt([address], () => true, facts, now);
    before = released[0] ?? before;
    return { writes, result: before };
  });
}
