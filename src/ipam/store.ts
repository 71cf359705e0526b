/** Addresses for whoever has nothing else to commit: `netplug-ipam`. */

import { NetplugError } from "../lib/errors.ts";
import { type AllocatedAddress, allocationQueries, planAllocation } from "./allocate.ts";
import type { Facts } from "./facts.ts";
import type { AddressRequest } from "./request.ts";
import { type Step, transact, type TransactOptions, type TransactPorts, type Try } from "./transact.ts";

/**
 * Gives addresses to one attachment: all it asks for, or none.
 *
 * @param options what the caller has read already of that which `allocationQueries` names, and what must be so before a commit
 * @throws {NetplugError} poolUnusable, noAddressLeft, addressInUse, addressOutsidePools; notInitialised, tryAgainLater
 */
export async function allocate(
  ports: TransactPorts,
  request: AddressRequest,
  options: Pick<TransactOptions<unknown>, "facts" | "beforeCommit"> = {},
): Promise<readonly AllocatedAddress[]> {
  const decide = (known: Facts, attempt: Try): Step<readonly AllocatedAddress[]> => {
    const plan = planAllocation([request], known, attempt);
    if ("wanted" in plan) return plan;
    const [outcome] = plan.outcomes;
    if (outcome === undefined) throw new NetplugError("internal", "allocate addresses: the plan has no outcome");
    // Within the decision: what failed on lists that were old is decided again.
    if ("error" in outcome) throw outcome.error;
    return { writes: plan.writes, result: outcome.addresses };
  };
  return await transact(ports, allocationQueries([request]), decide, options);
}
