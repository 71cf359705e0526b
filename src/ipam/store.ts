/** Address management for whoever has nothing else to commit: `netplug-ipam`, tunnels, tests. */

import { NetplugError } from "../lib/errors.ts";
import { type AllocatedAddress, type AllocationOutcome, allocationQueries, planAllocation } from "./allocate.ts";
import { planRelease, type ReleasedAddress, releaseQueries } from "./release.ts";
import type { AddressRequest, AttachmentId } from "./request.ts";
import { transact, type TransactPorts } from "./transact.ts";

/**
 * Gives addresses to one attachment: all it asks for, or none.
 *
 * @throws {NetplugError} poolUnusable, noAddressLeft, addressInUse, addressOutsidePools; notInitialised, tryAgainLater
 */
export async function allocate(ports: TransactPorts, request: AddressRequest): Promise<readonly AllocatedAddress[]> {
  const [outcome] = await allocateAll(ports, [request]);
  if (outcome === undefined) throw new NetplugError("internal", "allocate addresses: the plan has no outcome");
  if ("error" in outcome) throw outcome.error;
  return outcome.addresses;
}

/**
 * Gives addresses to several attachments with one commit; each is all or nothing, and one that fails does not stop the others.
 *
 * @returns outcomes by position of the request
 */
export async function allocateAll(ports: TransactPorts, requests: readonly AddressRequest[]): Promise<readonly AllocationOutcome[]> {
  return await transact(ports, allocationQueries(requests), (facts, attempt) => {
    const plan = planAllocation(requests, facts, attempt);
    return "wanted" in plan ? plan : { writes: plan.writes, result: plan.outcomes };
  });
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
