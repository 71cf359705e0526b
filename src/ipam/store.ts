/** Addresses alone, as `netplug-ipam` gives them: nothing else is committed with them. */

import { NetplugError } from "../lib/errors.ts";
import { type AllocatedAddress, allocationQueries, planAllocation } from "./allocate.ts";
import { isSameAttachment } from "./block.ts";
import type { Facts } from "./facts.ts";
import { planReleaseOf, releaseQueries } from "./release.ts";
import type { AddressRequest } from "./request.ts";
import { type Step, transact, type TransactOptions, type TransactPorts, type Try } from "./transact.ts";

interface AllocateOptions extends Pick<TransactOptions<unknown>, "facts" | "ahead" | "beforeCommit"> {
  /** Gets what the log should be told. */
  readonly defects?: Set<string>;
}

/**
 * Gives addresses to one attachment: all it asks for, or none.
 *
 * @param options what the caller has read already of that which `allocationQueries` names, and what must be so before a commit
 * @throws {NetplugError} poolUnusable, noAddressLeft, addressInUse, addressOutsidePools; notInitialised, tryAgainLater
 */
export async function allocate(
  ports: TransactPorts,
  request: AddressRequest,
  options: AllocateOptions = {},
): Promise<readonly AllocatedAddress[]> {
  let isRefused = false;
  let mayHavePart = false;
  const decide = (known: Facts, attempt: Try): Step<readonly AllocatedAddress[]> => {
    isRefused = true;
    const plan = planAllocation([request], known, attempt);
    const [outcome] = "wanted" in plan ? [] : plan.outcomes;
    if (!("wanted" in plan)) for (const defect of plan.defects) options.defects?.add(defect);
    // Within the decision: what failed on lists that were old is decided again.
    if (outcome !== undefined && "error" in outcome) throw outcome.error;
    isRefused = false;
    if ("wanted" in plan) return plan;
    if (outcome === undefined) throw new NetplugError("internal", "allocate addresses: the plan has no outcome");
    // What it had before stays with it; besides that a plan never takes more than one block.
    mayHavePart ||= plan.writes.length > 0 && outcome.addresses.every(({ isNew }) => isNew);
    return { writes: plan.writes, result: outcome.addresses, ahead: plan.ahead };
  };
  try {
    return await transact(ports, allocationQueries([request]), decide, options);
  } catch (thrown) {
    if (isRefused && mayHavePart) await giveBack(ports, request, options);
    throw thrown;
  }
}

/**
 * Takes back what a commit wrote before it met a conflict, after which there was nothing left for the rest: on Kubernetes each block is a
 * write of its own. Where that fails it is as after a caller that was killed: the allocation names its attachment, whose DEL finds it.
 */
async function giveBack(ports: TransactPorts, { owner }: AddressRequest, { beforeCommit }: AllocateOptions): Promise<void> {
  const decide = (facts: Facts, { now }: Try): Step<void> => {
    const plan = planReleaseOf((other) => isSameAttachment(other, owner), owner.node, facts, now);
    return "wanted" in plan ? plan : { writes: plan.writes, result: undefined };
  };
  try {
    await transact(ports, releaseQueries(owner.node), decide, beforeCommit === undefined ? {} : { beforeCommit });
  } catch {
    // The reason for which it was refused is what the caller has to know.
  }
}
