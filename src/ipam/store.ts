/** Address management for whoever has nothing else to commit: `netplug-ipam`, tunnels, tests. */

import { NetplugError } from "../lib/errors.ts";
import { type AllocatedAddress, type AllocationOutcome, allocationQueries, planAllocation } from "./allocate.ts";
import type { Facts } from "./facts.ts";
import { planRelease, type ReleasedAddress, releaseQueries } from "./release.ts";
import type { AddressRequest, AttachmentId } from "./request.ts";
import { type Step, transact, type TransactPorts, type Try } from "./transact.ts";

/**
 * Gives addresses to one attachment: all it asks for, or none.
 *
 * @param facts what the caller has read already of that which `allocationQueries` names
 * @throws {NetplugError} poolUnusable, noAddressLeft, addressInUse, addressOutsidePools; notInitialised, tryAgainLater
 */
export async function allocate(ports: TransactPorts, request: AddressRequest, facts?: Facts): Promise<readonly AllocatedAddress[]> {
  const decide = (known: Facts, attempt: Try): Step<readonly AllocatedAddress[]> => {
    const plan = planAllocation([request], known, attempt);
    if ("wanted" in plan) return plan;
    const [outcome] = plan.outcomes;
    if (outcome === undefined) throw new NetplugError("internal", "allocate addresses: the plan has no outcome");
    // Within the decision: what failed on lists that were old is decided again.
    if ("error" in outcome) throw outcome.error;
    return { writes: plan.writes, result: outcome.addresses };
  };
  return await transact(ports, allocationQueries([request]), decide, { facts });
}

/**
 * Gives addresses to several attachments with one commit; each is all or nothing, and one that fails does not stop the others.
 *
 * @returns outcomes by position of the request
 */
export async function allocateAll(
  ports: TransactPorts,
  requests: readonly AddressRequest[],
  facts?: Facts,
): Promise<readonly AllocationOutcome[]> {
  const decide = (known: Facts, attempt: Try): Step<readonly AllocationOutcome[]> => {
    const plan = planAllocation(requests, known, attempt);
    return "wanted" in plan ? plan : { writes: plan.writes, result: plan.outcomes };
  };
  return await transact(ports, allocationQueries(requests), decide, { facts });
}

/**
 * Releases every address of an attachment.
 *
 * @returns what was released; nothing when it had nothing
 */
export async function releaseAttachment(ports: TransactPorts, id: AttachmentId, node: string): Promise<readonly ReleasedAddress[]> {
  return await transact(ports, releaseQueries(node), (facts, { now }) => {
    const plan = planRelease(id, node, facts, now);
    return "wanted" in plan ? plan : { writes: plan.writes, result: plan.released };
  });
}
