/** Addresses that stay allocated although their endpoint does not have them: finding them, and releasing many at once. */

import type { Allocation, AllocationOwner } from "../../../api/ipam-block.ts";
import { recordedAddresses, type WorkloadEndpoint } from "../../../api/workload-endpoint.ts";
import type { Datastore } from "../../../datastore/datastore.ts";
import { parseAddress } from "../../../lib/ip/address.ts";
import { quote } from "../../../lib/quote.ts";
import { LONGEST_ADD_MS } from "../../longest-add.ts";
import { describeAllocation } from "../../owner-text.ts";
import { addressQueries, planReleaseAt } from "../../plan-release-at.ts";
import { transact, type TransactPorts } from "../../transact/transact.ts";
import { isCopied } from "../endpoints/copied-record.ts";
import { describeGonePod, isPerhapsStatic, knownPods } from "../endpoints/gone-pods.ts";
import { type Inventory, knowsAll, takeInventory } from "./inventory.ts";

/** An address that stays allocated although its endpoint does not have it. */
export interface Leak {
  /** The address. */
  readonly object: string;
  /** Who it is allocated to, and why that endpoint does not have it. Only the second part may change while it is the same leak. */
  readonly detail: string;
  /** How each `detail` of the same leak begins. */
  readonly detailStart: string;
  readonly allocation: Allocation;
  /** Whether Kubernetes does not hear of the owner's node: the container may run there, though its pod is gone. */
  readonly isNodeSilent: boolean;
}

/** A leak as a report names it. */
export type ReportedLeak = Pick<Leak, "object" | "detail">;

/**
 * What became of a reported leak: `released`; `over`, because it is no leak any more; `changed`, because the address has leaked from another
 * attachment by now; `young`, because an ADD, the same attachment's or another one's, may be about to record the address; `ahead`, because that
 * cannot be told: a clock is wrong; `silent`, because nobody knows what runs on its node.
 */
export type LeakEnd = "released" | "over" | "changed" | "young" | "ahead" | "silent";

/** Of one commit; more would make it too large for etcd. */
const ADDRESSES_PER_COMMIT = 32;

/** Nothing when not all endpoints are known. */
export function* leaksIn(inventory: Inventory): Generator<Leak> {
  const { allocations, users, reported, ending, endpoints, nodes, silentNodes, areRecordsPods } = inventory;
  if (!knowsAll(inventory, "WorkloadEndpoint")) return;
  const byName = Map.groupBy(endpoints, ({ metadata }) => metadata.name);
  const pods = areRecordsPods ? knownPods(endpoints, nodes) : undefined;
  for (const [object, allocation] of allocations) {
    const { owner } = allocation;
    const { endpoint, namespace } = owner;
    const toLeak = leakMaker(object, allocation, silentNodes.get(owner.node));
    if (endpoint === undefined) {
      const why = pods === undefined ? undefined : describeGonePod(owner, pods);
      if (why !== undefined) yield toLeak("under another main plugin, and ", why);
      continue;
    }
    const isTheirs = ({ metadata }: WorkloadEndpoint): boolean => metadata.name === endpoint && metadata.namespace === namespace;
    // A pod whose record was cleared, and that runs for its kubelet, still has what it is allocated.
    const having = [users, reported, ending].flatMap((endpointsBy) => endpointsBy.get(object) ?? []);
    if (having.some((user) => isEndpointOf(user, owner))) continue;
    const record = byName.get(endpoint)?.find(isTheirs);
    if (areRecordsPods && isPerhapsStatic(owner, record, nodes)) continue;
    yield toLeak(`for endpoint ${quote(endpoint)}, `, describeRecord(record, areRecordsPods ? owner : undefined));
  }
}

function leakMaker(object: string, allocation: Allocation, silentSince: string | undefined): (what: string, why: string) => Leak {
  const silence = silentSince === undefined ? "" : `; its node has not reported since ${silentSince}, so its container may run on`;
  return (what, why) => {
    const detailStart = `allocated to ${describeAllocation(allocation)} ${what}`;
    return { object, allocation, detailStart, detail: `${detailStart}${why}${silence}`, isNodeSilent: silentSince !== undefined };
  };
}

/** @param owner where endpoints are pods */
function describeRecord(record: WorkloadEndpoint | undefined, owner: AllocationOwner | undefined): string {
  if (record === undefined) return "which does not exist";
  if (isCopied(record, owner)) return "which is another pod's by now";
  return recordedAddresses(record).length === 0 ? "which has no address" : "which has other addresses";
}

/**
 * Whether an endpoint that has an address is the owner's. Its name alone does not tell: a pod's endpoint has Kubernetes' name of the node, an
 * owner the node's own name. Nor does the container: a record that was cleared names none, and one that somebody changed another one.
 */
export function isEndpointOf({ metadata: { name, namespace, uid }, spec }: WorkloadEndpoint, owner: AllocationOwner): boolean {
  if (spec.containerID === owner.containerID && spec.endpoint === owner.ifName) return true;
  if (uid !== undefined && uid === owner.podUID) return true;
  if (namespace !== owner.namespace) return false;
  return name === owner.endpoint || (spec.containerID === undefined && owner.pod !== undefined && spec.pod === owner.pod);
}

/** Not all endpoints can be read, so nothing may be called a leak. */
export class EndpointsUnread extends Error {
  override readonly name = "EndpointsUnread";
}

/**
 * Releases those of the reported leaks that are the same leaks still: of the same attachment, since the same moment.
 *
 * @param reported each address once
 * @param toPorts called for each commit
 * @param onEnd gets each leak when it is settled, so that a failure later does not hide what was done
 * @throws {EndpointsUnread} when nobody can tell what is leaked
 */
export async function releaseLeaks(
  datastore: Datastore,
  reported: readonly ReportedLeak[],
  toPorts: () => TransactPorts,
  onEnd: (object: string, end: LeakEnd, allocation: Allocation | undefined) => void,
): Promise<void> {
  const inventory = await takeInventory(datastore);
  if (!knowsAll(inventory, "WorkloadEndpoint")) throw new EndpointsUnread("not all endpoints could be read");
  const now = toPorts().clock.now() / 1000;
  const leaks = new Map([...leaksIn(inventory)].map((leak) => [leak.object, leak]));
  const due: Leak[] = [];
  for (const { object, detail } of reported) {
    const leak = leaks.get(object);
    if (leak === undefined) {
      onEnd(object, "over", undefined);
      continue;
    }
    const whyLeft = whyToLeave(leak, detail, now);
    if (whyLeft === undefined) due.push(leak);
    else onEnd(object, whyLeft, leak.allocation);
  }
  for (let from = 0; from < due.length; from += ADDRESSES_PER_COMMIT) {
    const some = due.slice(from, from + ADDRESSES_PER_COMMIT);
    const released = await release(toPorts(), some);
    for (const { object, allocation } of some) onEnd(object, released.has(keyOf(allocation)) ? "released" : "over", allocation);
  }
}

/** @param detail of the report @param now in seconds @returns undefined where the leak is to be released */
function whyToLeave({ allocation, detailStart, isNodeSilent }: Leak, detail: string, now: number): LeakEnd | undefined {
  const age = now - allocation.since;
  const longestAdd = LONGEST_ADD_MS / 1000;
  // Also where another attachment got the address: nobody can say yet that it has leaked from that one.
  if (age >= -longestAdd && age < longestAdd) return "young";
  if (!detail.startsWith(detailStart)) return "changed";
  if (age < 0) return "ahead";
  return isNodeSilent ? "silent" : undefined;
}

/** @returns keys of what was released */
async function release(ports: TransactPorts, leaks: readonly Leak[]): Promise<ReadonlySet<string>> {
  const addresses = leaks.map(({ object }) => parseAddress(object));
  const meant = new Set(leaks.map(({ allocation }) => keyOf(allocation)));
  const released = new Set<string>(); // free at the second look, because the reply to our first commit was lost
  return await transact(ports, addressQueries(addresses), (facts, { now }) => {
    const plan = planReleaseAt(addresses, (allocation) => meant.has(keyOf(allocation)), facts, now);
    for (const allocation of plan.released) released.add(keyOf(allocation));
    return { writes: plan.writes, result: released };
  });
}

function keyOf({ ordinal, since, owner: { network, containerID, ifName, node } }: Allocation): string {
  return JSON.stringify([ordinal, since, network, containerID, ifName, node]);
}
