/** Addresses alone, as `netplug-ipam` gives them: nothing else is committed with them. */

import { NetplugError } from "../lib/errors.ts";
import type { Address } from "../lib/ip/address.ts";
import { type AllocatedAddress, allocationQueries, planAllocation } from "./plan-allocation.ts";
import { isSameAttachment } from "./block.ts";
import type { Facts } from "./facts.ts";
import { planReleaseOf, releaseQueries } from "./plan-release.ts";
import type { AddressRequest } from "./request.ts";
import { type Decision, transact, type TransactOptions, type TransactPorts, type Try } from "./transact/transact.ts";

interface AllocateOptions extends Pick<TransactOptions<unknown>, "facts" | "loadPrefetch" | "beforeCommit" | "onOutcome"> {
  /** Gets what the log should be told. */
  readonly defects?: Set<string>;
  /**
   * Gets, of each commit that was not refused, the addresses that it was to give to the attachment. More than the outcome calls new: where the
   * reply was lost, the next decision finds them.
   */
  readonly sent?: (readonly Address[])[];
}

/**
 * Gives addresses to one attachment: all it asks for, or none.
 *
 * @param options answers that the caller has already, and what it does around each commit
 * @throws {NetplugError} poolUnusable, noAddressLeft, addressInUse, addressOutsidePools; notInitialised, tryAgainLater
 */
export async function allocate(
  ports: TransactPorts,
  request: AddressRequest,
  options: AllocateOptions = {},
): Promise<readonly AllocatedAddress[]> {
  /** What each decision gave to the attachment, which did not have it: of a commit that failed, a part may be written. */
  const added: (readonly Address[])[] = [];
  /** What the last decision that came to nothing threw. */
  let refusal: unknown;
  const decide = (known: Facts, attempt: Try): Decision<readonly AllocatedAddress[]> => {
    try {
      const { outcomes, writes, prefetch, served, defects } = planAllocation([request], known, attempt);
      for (const defect of defects) options.defects?.add(defect);
      const [outcome] = outcomes;
      if (outcome === undefined) throw new NetplugError("internal", "allocate addresses: the plan has no outcome");
      // Thrown inside the decision, so that `transact()` decides again on the newest lists.
      if ("error" in outcome) throw outcome.error;
      added.push(outcome.addresses.flatMap(({ address, isNew }) => (isNew ? [address] : [])));
      return { writes, prefetch, served, result: outcome.addresses };
    } catch (thrown) {
      refusal = thrown;
      throw thrown;
    }
  };
  const { sent = [] } = options;
  const beforeCommit = (): void => {
    options.beforeCommit?.();
    sent.push(added.at(-1) ?? []);
  };
  const onOutcome = (isApplied: boolean): void => {
    if (!isApplied) sent.pop();
    options.onOutcome?.(isApplied);
  };
  try {
    return await transact(ports, allocationQueries([request]), decide, { ...options, beforeCommit, onOutcome });
  } catch (thrown) {
    const given = added.flat();
    if (thrown === refusal && given.length > 0) await releasePart(ports, request, given, options);
    throw thrown;
  }
}

/**
 * Releases what a commit had written before a conflict, when the rest of the addresses could not be found afterwards: on Kubernetes each block
 * is written separately. What the attachment had stays. If this fails too, the DEL of the attachment finds the allocation, as after a killed ADD.
 */
async function releasePart(
  ports: TransactPorts,
  { owner }: AddressRequest,
  given: readonly Address[],
  { beforeCommit }: AllocateOptions,
): Promise<void> {
  const decide = (facts: Facts, { now }: Try): Decision<void> => {
    const { writes } = planReleaseOf((other) => isSameAttachment(other, owner), owner.node, facts, now, given);
    return { writes, result: undefined };
  };
  try {
    await transact(ports, releaseQueries(owner.node), decide, { beforeCommit });
  } catch {
    // The caller must see why the allocation failed, not why releasing did.
  }
}
