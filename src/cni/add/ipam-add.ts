/** ADD of `netplug-ipam` under another main plugin: addresses without link and endpoint. */

import { NEXT_HOPS } from "../../endpoint/pod-link.ts";
import { allocate } from "../../ipam/allocate.ts";
import type { Facts } from "../../ipam/facts.ts";
import { type AllocatedAddress, allocationQueries } from "../../ipam/plan-allocation.ts";
import type { AddressRequest } from "../../ipam/request.ts";
import { messageOf } from "../../lib/errors.ts";
import { type Address, equalAddresses, toAddressText } from "../../lib/ip/address.ts";
import { UndoFailed } from "../../lib/undo-stack.ts";
import type { Netns } from "../../linux/netns.ts";
import { Hold } from "../attachment-state/hold.ts";
import { toAddressRequest, toAllocationSubject } from "../call-requests.ts";
import type { Call } from "../call.ts";
import { settle } from "../failures.ts";
import type { Kernel } from "../link/kernel.ts";
import { openNetnsIfThere } from "../link/pod-netns.ts";
import { cancelPending } from "../pending-release/cancel.ts";
import { preparePendingOfAdd } from "../pending-release/while-adding.ts";
import { isPodLookedUp } from "../pod/facts.ts";
import { askKubernetes } from "../pod/mod.ts";
import { type CniResult, toResultIp } from "../protocol/result.ts";
import { beginReading, transactPortsOf } from "../transact-ports.ts";
import { checkAddable } from "./addable.ts";
import { requireUnused } from "./address-in-use/require-unused.ts";
import { renewAddresses } from "./renew.ts";
import type { Taken } from "./withdraw-attachment.ts";

/**
 * During a slow ADD the main plugin and the runtime may end, and the next runtime may call DEL and remove the namespace. Nobody would then call
 * DEL for the addresses that this ADD takes afterwards, so it looks for that before each commit and at its end.
 *
 * @param answer gives the main plugin the result, last of all: what it never gets is released
 * @throws {NetplugError} badNetns when the namespace has lost its name, tryAgainLater when the attachment was ended or is another ADD's
 * @throws {UndoFailed} around it when something is left behind
 */
export async function addAddresses(call: Call, answer: (result: CniResult) => void): Promise<void> {
  checkAddable(call);
  if ((call.config.ipam.routes ?? []).length > 0)
    call.log.warning('"ipam.routes" has no effect under another main plugin: the pod gets no route but that to its block');
  const { kernel } = call.host;
  const early = isPodLookedUp(call) ? undefined : toAddressRequest(call);
  // Addresses alone need no namespace: none named, or a path to something else, is no error here.
  using netns = openNetnsIfThere(kernel, call.environment.netns ?? "");
  using hold = new Hold(call, netns);
  const pending = preparePendingOfAdd(call, netns, hold);
  const isEnded = (): boolean => hold.state() === "ended" || (netns !== undefined && isGone(kernel, netns));
  // What an earlier ADD may have got stays to be released, because nobody may be left who would call DEL for it.
  const hasOlder = await cancelPending(call, hold.commits, pending?.write);
  let possible: Possible = { newAddresses: [], mayHaveOthers: hasOlder };
  const beforeCommit = (): void => {
    hold.beforeCommit();
    possible = { newAddresses: [], mayHaveOthers: true };
  };
  try {
    const { result, newAddresses, askedBy } = await giveAddresses(call, early, { beforeCommit, onOutcome: hold.commits.onOutcome });
    hold.commits.noteRecorded();
    // If the kernel cannot tell whether the namespace is gone, the ADD succeeds.
    if (hold.state() === "taken" || isEnded()) hold.requireHeld();
    if (newAddresses.length > 0) {
      possible = { newAddresses, mayHaveOthers: hasOlder || newAddresses.length < result.ips.length };
      // `ptp` would take over the route of whoever uses the address.
      requireUnused(kernel, newAddresses, { netns, askedBy });
    }
    answer(result);
  } catch (thrown) {
    const { newAddresses, mayHaveOthers } = possible;
    const isAll = isEnded();
    const taken = isAll || newAddresses.length > 0 ? { addresses: newAddresses, isAll } : undefined;
    if (taken) {
      // If the release succeeds, it removes the note, unless something that was sent may arrive after it.
      pending?.leave();
      await release(call, hold, thrown, taken);
    }
    if (mayHaveOthers && !isAll) pending?.leave();
    else if (!taken) pending?.drop();
    throw thrown;
  }
  // What the main plugin was told of is not taken back, whatever fails now.
  hold.noteSuccess();
  pending?.drop();
}

/** What the attachment may have if the ADD fails now. */
interface Possible {
  /** Those that no earlier ADD got, once they are certain. Nobody was told of them. */
  readonly newAddresses: readonly Address[];
  /** Whether it may have others: an earlier ADD's, or, until it is certain which are new, whatever this one's commits came to. */
  readonly mayHaveOthers: boolean;
}

/**
 * Releases what an ADD that has failed took.
 *
 * @param cause why it failed
 * @throws {UndoFailed} when it cannot; that also keeps the ADD from running again, which would find the addresses allocated, and give them
 */
async function release(call: Call, hold: Hold, cause: unknown, taken: Taken): Promise<void> {
  const released = await settle(async () => await (await import("./withdraw-attachment.ts")).withdrawAttachment(call, hold, taken));
  if (!released.ok) throw new UndoFailed(cause, [new Error(`release addresses: ${messageOf(released.error)}`)]);
}

/** @param early what is asked for, if that is known before the pod is read */
async function giveAddresses(call: Call, early: AddressRequest | undefined, { beforeCommit, onOutcome }: AroundCommit): Promise<Given> {
  const ports = transactPortsOf(call);
  const { ledger, prefetch } = call;
  const queries = allocationQueries([early ?? toAllocationSubject(call)]);
  const asked = await askKubernetes(call);
  const reading = beginReading(call, [...queries, ...prefetch.load()]);
  const [kubernetes, facts] = await Promise.all([asked?.facts, reading]);
  const request = early ?? toAddressRequest(call, await kubernetes?.toPodFacts(undefined));
  const defects = new Set<string>();
  // By commit, without those that were refused. Where a reply was lost, the next decision finds what was sent, as if an earlier ADD had got it.
  const sent: (readonly AllocatedAddress[])[] = [];
  const aroundCommit = {
    beforeCommit,
    whileCommitting: (given: readonly AllocatedAddress[]): void => void sent.push(given),
    onOutcome(isApplied: boolean): void {
      if (!isApplied) sent.pop();
      onOutcome(isApplied);
    },
  };
  const allocateFrom = async (known: Facts | undefined): Promise<readonly AllocatedAddress[]> => {
    const options = { facts: known, loadPrefetch: prefetch.load, defects, ...aroundCommit };
    const given = await ledger.time("datastore", () => allocate(ports, request, options));
    if (given.every(({ isNew }) => isNew)) return given;
    const addresses = given.map(({ address }) => address);
    return (await renewAddresses(call, beforeCommit, request.owner, addresses)) ? given : await allocateFrom(undefined);
  };
  const allocated = await allocateFrom(facts).finally(() => defects.forEach((defect) => call.log.warning(defect)));
  const addresses = allocated.map(({ address }) => address);
  const isFromUs = (address: Address): boolean => sent.flat().some((one) => one.isNew && equalAddresses(one.address, address));
  return { result: toIpamResult(allocated), newAddresses: addresses.filter(isFromUs), askedBy: request.namedBy?.addresses };
}

/** Each address with its block's prefix length and our next hop, and no routes. */
function toIpamResult(addresses: readonly AllocatedAddress[]): CniResult {
  const ips = addresses.map(({ address, block }) =>
    toResultIp({ address, length: block.length }, undefined, toAddressText(NEXT_HOPS[address.family])),
  );
  return { interfaces: [], ips, routes: [], dns: undefined };
}

/** For `transact()`. */
interface AroundCommit {
  readonly beforeCommit: () => void;
  readonly onOutcome: (isApplied: boolean) => void;
}

interface Given {
  readonly result: CniResult;
  /** Those that no earlier ADD got. */
  readonly newAddresses: readonly Address[];
  /** Who asks for these very addresses; undefined: nobody. */
  readonly askedBy: string | undefined;
}

/** Whether the namespace was removed; false when the kernel cannot tell. */
function isGone(kernel: Kernel, netns: Netns): boolean {
  try {
    return !kernel.isNamed(netns);
  } catch {
    return false;
  }
}
