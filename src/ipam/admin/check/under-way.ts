/**
 * Which findings may pass by themselves, because somebody is in the midst of something that is more than one write: where records are pods, an ADD
 * writes the block first and then the pod, a DEL the pod first and then the block, and only after that the kubelet says that the pod has ended.
 */

import type { Block } from "../../../api/ipam-block.ts";
import { toAddressText } from "../../../lib/ip/address.ts";
import { addressAt } from "../../../lib/ip/prefix.ts";
import type { Inventory } from "./inventory.ts";
import type { Inconsistency } from "./problems.ts";

/** Milliseconds that a node and an API server under heavy load may take for the rest. */
const REST_MS = 20_000;

/** Whether a kubelet is its witness, which may not have told yet that the pod has ended. */
export function isReported({ object }: Inconsistency, { reported }: Inventory): boolean {
  return reported.has(object);
}

/** Of an address that was given a moment ago: its record is to come, or is still the one that its pod brought along. */
const WITHOUT_RECORD: readonly string[] = ["leaked-address", "unrecorded-in-use"];

/** Whether the address was released a moment ago from a pod that runs for its kubelet, or given, and its record may be to come. */
export function isUnderWay(problem: Inconsistency, inventory: Inventory, recent: ReadonlySet<string>): boolean {
  const mayBecomeRecorded = inventory.areRecordsPods && WITHOUT_RECORD.includes(problem.class);
  return recent.has(problem.object) && (mayBecomeRecorded || isReported(problem, inventory));
}

/**
 * The addresses that were given or released a moment ago, or by a node whose clock is as far ahead of ours.
 *
 * @param now milliseconds since 1970
 */
export function recentlyChanged(blocks: readonly Block[], now: number): ReadonlySet<string> {
  const recent = new Set<string>();
  for (const { cidr, allocations, releasedAt } of blocks) {
    const note = (ordinal: number, at: number): void => {
      if (Math.abs(now - at * 1_000) < REST_MS) recent.add(toAddressText(addressAt(cidr, ordinal)));
    };
    for (const { ordinal, since } of allocations) note(ordinal, since);
    for (const [ordinal, at] of releasedAt) note(ordinal, at);
  }
  return recent;
}
