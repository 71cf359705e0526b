/** Addresses alone, as `netplug-ipam` gives them: nothing else is committed with them. */

import { NetplugError } from "../lib/errors.ts";
import type { Address } from "../lib/ip/address.ts";
import { type AllocatedAddress, allocationQueries, planAllocation } from "./plan-allocation.ts";
import { isSameAttachment } from "./block.ts";
import type { Facts } from "./facts.ts";
import { planReleaseOf, releaseQueries } from "./plan-release.ts";
import type { AddressRequest } from "./request.ts";
import { type Decision, transact, type TransactOptions, type TransactPorts, type Try } from "./transact/transact.ts";

type Allocated = readonly AllocatedAddress[];

interface AllocateOptions extends Pick<
  TransactOptions<Allocated>,
  "facts" | "loadPrefetch" | "beforeCommit" | "whileCommitting" | "onOutcome"
> {
  /** Gets what the log should be told. */
  readonly defects?: Set<string>;
}

/**
 * Gives addresses to one attachment: all it asks for, or none.
 *
 * @param options answers that the caller has already, and what it does around each commit
 * @throws {NetplugError} poolUnusable, noAddressLeft, addressInUse, addressOutsidePools; notInitialised, tryAgainLater
 */
export async function allocate(ports: TransactPorts, request: AddressRequest, options: AllocateOptions = {}): Promise<Allocated> {
  // What its commits were to give: of one that was refused, too, a part may be written.
  const perhapsGiven: Address[] = [];
  const whileCommitting = (given: Allocated): void => {
    perhapsGiven.push(...given.flatMap(({ address, isNew }) => (isNew ? [address] : [])));
    options.whileCommitting?.(given);
  };
  let refusal: unknown;
  const decideOrRefuse = (known: Facts, attempt: Try): Decision<Allocated> => {
    try {
      return decideAllocation(request, known, attempt, options.defects);
    } catch (thrown) {
      refusal = thrown;
      throw thrown;
    }
  };
  try {
    return await transact(ports, allocationQueries([request]), decideOrRefuse, { ...options, whileCommitting });
  } catch (thrown) {
    // After any other failure a release would most likely fail, too.
    const isRefused = thrown === refusal;
    if (isRefused && perhapsGiven.length > 0) await releasePart(ports, request, perhapsGiven, options);
    throw thrown;
  }
}

/** @throws {NetplugError} why the request cannot be served: from inside the decision, so that `transact()` decides again on the newest lists */
function decideAllocation(request: AddressRequest, known: Facts, attempt: Try, log: Set<string> | undefined): Decision<Allocated> {
  const { outcomes, writes, prefetch, served, defects } = planAllocation([request], known, attempt);
  for (const defect of defects) log?.add(defect);
  const [outcome] = outcomes;
  if (outcome === undefined) throw new NetplugError("internal", "allocate addresses: the plan has no outcome");
  if ("error" in outcome) throw outcome.error;
  return { writes, prefetch, served, result: outcome.addresses };
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
