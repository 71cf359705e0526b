/**
 * What a node's next request must read in addition when the node's blocks are used up: where a new block may lie. A request that reads this
 * with its first queries saves one round trip; that concerns one ADD per block. A wrong guess does no harm: these answers are as new as all
 * others of the decision.
 */

import type { Block } from "../../api/ipam-block.ts";
import type { Query } from "../../datastore/datastore.ts";
import { NetplugError } from "../../lib/errors.ts";
import { nextOrdinal } from "../block.ts";
import type { Draft } from "../draft.ts";
import { collectWanted, onlyAbout } from "../facts.ts";
import type { AddressRequest } from "../request.ts";
import { reservedIn } from "../reservations.ts";
import { takeAutomatic } from "./automatic.ts";
import { spreadOf } from "./slots.ts";
import type { PlanContext } from "./plan-context.ts";

/**
 * The queries that another request of this kind would send after its first ones.
 *
 * @param draft with this request served
 * @param certain the queries that every request of this kind begins with
 * @returns none where a block that it took an address from has more
 */
export function planPrefetch(request: AddressRequest, context: PlanContext, draft: Draft, certain: readonly Query[]): readonly Query[] {
  if (request.addresses.length > 0 || ![...draft.values()].some(({ block }) => isUsedUp(block, context))) return [];
  const next = { ...context, facts: onlyAbout(certain, context.facts), spreadFor: spreadOf };
  return request.families.flatMap((family) => {
    try {
      const decision = collectWanted(() => takeAutomatic(request, family, next, draft));
      return "wanted" in decision ? decision.wanted : [];
    } catch (thrown) {
      if (thrown instanceof NetplugError) return []; // the next request will say so
      throw thrown;
    }
  });
}

function isUsedUp(block: Block, { reserved, moment }: PlanContext): boolean {
  return nextOrdinal(block, moment, reservedIn(reserved, block.cidr)) === undefined;
}
