/** Contradictions between endpoints, allocations and pools. */

import type { Allocation } from "../../../api/ipam-block.ts";
import { recordedAddresses, type WorkloadEndpoint } from "../../../api/workload-endpoint.ts";
import { type Address, parseAddress, toAddressText } from "../../../lib/ip/address.ts";
import { containsAddress } from "../../../lib/ip/prefix.ts";
import { quote } from "../../../lib/quote.ts";
import { type Inventory, knowsAll } from "./inventory.ts";
import { isEndpointOf, leaksIn } from "./leaks.ts";
import { isManagedElsewhere } from "../endpoints/managed-elsewhere.ts";
import { type Inconsistency, problem } from "./problems.ts";
import { isMirror } from "../endpoints/gone-pods.ts";
import { describeEndpoints } from "../endpoints/users.ts";

/** What is wrong with what endpoints have; nothing is read or written. */
export function* endpointProblems(inventory: Inventory): Generator<Inconsistency> {
  yield* unallocated(inventory);
  yield* forgotten(inventory);
  yield* unrecorded(inventory);
  yield* duplicates(inventory);
  yield* misnamed(inventory);
  yield* leaks(inventory);
}

/** Addresses in use that nobody allocated: inside a pool another may get them. */
function* unallocated(inventory: Inventory): Generator<Inconsistency> {
  const { pools, inPools, allocations, users, podCidrs } = inventory;
  for (const [text, endpoints] of users) {
    if (allocations.has(text)) continue;
    const address = parseAddress(text);
    if (inPools.has(address)) {
      if (!isUnknown(address, inventory))
        yield problem("unallocated-in-use", text, `used by ${describeEndpoints(endpoints)}, but allocated to nobody`);
    } else if (knowsAll(inventory, "IPPool") && pools.some(({ family }) => family === address.family)) {
      // A family without pools has other address management.
      const strangers = endpoints.filter((endpoint) => !isManagedElsewhere(endpoint, address, podCidrs));
      if (strangers.length > 0) yield problem("outside-pool", text, `used by ${describeEndpoints(strangers)}`);
    }
  }
}

/** Addresses of pods that run, without a record and without an allocation: a GC that was called with a wrong list, for example. */
function* forgotten(inventory: Inventory): Generator<Inconsistency> {
  const { inPools, allocations, users, reported } = inventory;
  for (const [text, reporting] of reported) {
    const address = parseAddress(text);
    const endpoints = reporting.filter((endpoint) => !isRecordTrue(endpoint, inventory));
    if (endpoints.length === 0) continue;
    if (users.has(text) || allocations.has(text) || !inPools.has(address) || isUnknown(address, inventory)) continue;
    yield problem(
      "unallocated-in-use",
      text,
      `used by ${describeEndpoints(endpoints)}, as its kubelet says, but recorded and allocated nowhere`,
    );
  }
}

/**
 * Addresses of pods that run and whose record was cleared or changed, or is of an earlier sandbox: they stay allocated, but nobody else learns of them,
 * an agent for example.
 */
function* unrecorded(inventory: Inventory): Generator<Inconsistency> {
  const { allocations, users, reported } = inventory;
  for (const [text, endpoints] of reported) {
    const allocation = allocations.get(text);
    if (allocation === undefined || users.has(text)) continue;
    const { owner } = allocation;
    const used = (by: readonly WorkloadEndpoint[]): string => `used by ${describeEndpoints(by)}, as its kubelet says, and allocated to`;
    // One without an endpoint is another main plugin's: nobody records it.
    const theirs = owner.endpoint === undefined ? [] : endpoints.filter((endpoint) => isEndpointOf(endpoint, owner));
    if (theirs.length > 0) yield problem("unrecorded-in-use", text, `${used(theirs)} it, but not recorded`);
    const outdated = endpoints.find((endpoint) => isOutdated(endpoint, allocation, allocations));
    if (outdated === undefined) continue;
    const containers = `container ${quote(owner.containerID)}, but ${describeContainer(outdated)}`;
    yield problem("unrecorded-in-use", text, `${used([outdated])} ${containers}`);
  }
  yield* ofAnotherContainer(inventory);
}

/**
 * Addresses that pods have by their record, but not as the container that has them: CHECK refuses such a record. Where all of it was removed, what the
 * kubelet reports counts as the pod's addresses. The mirror that a kubelet made anew has no record, and its static pod gets none until its next sandbox.
 */
function* ofAnotherContainer({ allocations, users, areRecordsPods }: Inventory): Generator<Inconsistency> {
  if (!areRecordsPods) return;
  for (const [text, endpoints] of users) {
    const owner = allocations.get(text)?.owner;
    if (owner?.endpoint === undefined) continue;
    const isMistaken = (endpoint: WorkloadEndpoint): boolean => endpoint.spec.containerID !== owner.containerID && !isMirror(endpoint);
    const record = endpoints.find((endpoint) => isEndpointOf(endpoint, owner) && isMistaken(endpoint));
    if (record === undefined) continue;
    const used = `used by ${describeEndpoints([record])}, and allocated to its container ${quote(owner.containerID)}`;
    yield problem("unrecorded-in-use", text, `${used}, but ${describeContainer(record)}`);
  }
}

function describeContainer({ spec: { containerID } }: WorkloadEndpoint): string {
  return containerID === undefined ? "its record names no container" : `the record is that of container ${quote(containerID)}`;
}

/**
 * Whether a pod's record is of an earlier container than the one that has an address which its kubelet reports: then `ipam adopt` did not learn from
 * it whose the address is. If the record's addresses are the pod's and were given later, the kubelet is the one who is late.
 */
function isOutdated(endpoint: WorkloadEndpoint, { owner, since }: Allocation, allocations: Inventory["allocations"]): boolean {
  const { containerID } = endpoint.spec;
  if (owner.endpoint !== undefined || owner.pod !== undefined || containerID === undefined || containerID === owner.containerID)
    return false;
  const recorded = recordedAddresses(endpoint).map((address) => allocations.get(toAddressText(address)));
  const isLater = (one: Allocation | undefined): boolean => one !== undefined && isEndpointOf(endpoint, one.owner) && one.since > since;
  return !recorded.every(isLater);
}

/**
 * Whether a pod has all that its record says, by the blocks. What its kubelet reports beside is then of the sandbox before, as for some seconds
 * after a node was rebooted.
 */
function isRecordTrue(endpoint: WorkloadEndpoint, { allocations }: Inventory): boolean {
  const owners = recordedAddresses(endpoint).map((address) => allocations.get(toAddressText(address))?.owner);
  return owners.length > 0 && owners.every((owner) => owner !== undefined && isEndpointOf(endpoint, owner));
}

/** Whether its block exists and cannot be read. */
function isUnknown(address: Address, { damagedBlocks }: Inventory): boolean {
  return damagedBlocks.some(({ cidr, isAnswered }) => !isAnswered && cidr !== undefined && containsAddress(cidr, address));
}

function* duplicates(inventory: Inventory): Generator<Inconsistency> {
  const { users, reported } = inventory;
  for (const [text, recorded] of users) {
    const others = (reported.get(text) ?? []).filter((endpoint) => !isRecordTrue(endpoint, inventory));
    const endpoints = [...new Set([...recorded, ...others])];
    if (endpoints.length > 1) yield problem("duplicate-address", text, `used by ${describeEndpoints(endpoints)}`);
  }
}

/** Addresses that their own node does not find, as after `ipam adopt` with another node's name: a GC of that one releases them, though they are in use. */
function* misnamed({ allocations, users, nodes, endpoints }: Inventory): Generator<Inconsistency> {
  // A name that no other node has may be the one that the node gives itself.
  const known = new Set([...nodes, ...endpoints.map(({ spec }) => spec.node)]);
  for (const [text, { owner }] of allocations) {
    const isOwn = ({ spec }: WorkloadEndpoint): boolean =>
      spec.node !== "" && spec.containerID === owner.containerID && spec.endpoint === owner.ifName;
    const records = known.has(owner.node) ? (users.get(text)?.filter(isOwn) ?? []) : [];
    const [record] = records;
    if (record === undefined || records.some(({ spec }) => spec.node === owner.node)) continue;
    const where = `allocated to it on node ${quote(owner.node)}, but recorded on node ${quote(record.spec.node)}`;
    yield problem("misnamed-node", text, `used by ${describeEndpoints([record])}, ${where}`);
  }
}

function* leaks(inventory: Inventory): Generator<Inconsistency> {
  for (const { object, detail } of leaksIn(inventory)) yield problem("leaked-address", object, detail);
}
