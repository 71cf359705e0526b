/** CHECK: is what the ADD set up still there, in the kernel, in the datastore and with the delegate? Changes nothing. */

import { ANNOTATION_PREFIX } from "../api/pod-annotations.ts";
import { networksOf, type WorkloadEndpoint } from "../api/workload-endpoint.ts";
import { CLUSTER_INFORMATION, requireReady } from "../datastore/cluster-state.ts";
import { toOwnMac } from "../endpoint/plan-attachment.ts";
import { IP_POOLS } from "../ipam/cluster.ts";
import { addressOf, NO_DRAFT, ownAllocations } from "../ipam/draft.ts";
import { type Facts, know } from "../ipam/facts.ts";
import { toPoolTable } from "../ipam/pools.ts";
import { releaseQueries } from "../ipam/plan-release.ts";
import { transact } from "../ipam/transact/transact.ts";
import { NetplugError } from "../lib/errors.ts";
import { type Address, equalAddresses, toAddressText } from "../lib/ip/address.ts";
import { containsPrefix, equalPrefixes, type Prefix, toHostPrefix, toPrefixText } from "../lib/ip/prefix.ts";
import { type MacAddress, tryParseMac } from "../lib/mac-address.ts";
import { quoteValue } from "../lib/quote.ts";
import { linkNamesOf, openNetnsOfCall, recordQueryOfCall, requestedMac } from "./call-requests.ts";
import { attachmentIdOf, type Call, hasOwnIpam, isMain, type LocalCall, workloadOf } from "./call.ts";
import { delegateCheck } from "./delegate/mod.ts";
import { delegateOf } from "./delegate/address-source.ts";
import { checkLink } from "./link/check.ts";
import { isPodLookedUp } from "./pod/facts.ts";
import { addressesOf, type CniResult, EMPTY_RESULT } from "./protocol/result.ts";
import { transactPortsOf } from "./transact-ports.ts";

/** @throws NetplugError attachmentIncomplete with every fault; notInitialised where that explains them; what the delegate throws */
export async function check(call: Call): Promise<void> {
  const stored = await call.ledger.time("datastore", () => readStored(call));
  // The parser of the network config refuses a CHECK without prevResult.
  const previous = call.config.prevResult ?? EMPTY_RESULT;
  const addresses = ownAddresses(addressesOf(previous), stored);
  const hasAllocations = hasOwnIpam(call) && !(await isGivenWithoutIpam(call, addresses, stored));
  const faults = [
    ...(isMain(call.plugin) ? checkAttachment(call, previous, stored, addresses) : []),
    ...(hasAllocations ? checkAllocations(stored.allocated, addresses) : []),
  ];
  if (faults.length > 0) {
    // Then the datastore is at fault, not the attachment: it is another or a new one.
    if (!stored.isInitialised) requireReady(undefined, "add");
    throw new NetplugError("attachmentIncomplete", `check attachment: ${faults.join("; ")}`);
  }
  const delegate = delegateOf(call);
  if (delegate !== undefined) await delegateCheck(delegate);
}

/** What the datastore holds of the attachment. */
interface StoredAttachment {
  readonly isInitialised: boolean;
  /** Addresses of our own management. */
  readonly allocated: readonly Address[];
  /** undefined also under another main plugin, where nobody writes a record. */
  readonly record: WorkloadEndpoint | undefined;
  /** Among which addresses ours are, besides those that are allocated: by the record, or by the pools where nobody writes one; undefined: nothing tells. */
  readonly ours: readonly Prefix[] | undefined;
}

/** In one round trip, unless the node has borrowed blocks. */
async function readStored(call: Call): Promise<StoredAttachment> {
  const { node } = call;
  const id = attachmentIdOf(call);
  const recordQuery = recordQueryOfCall(call);
  const isRecorded = isMain(call.plugin);
  // Nothing is written, so this waits for nobody.
  const { takeTurn: _turn, ...ports } = transactPortsOf(call);
  return await transact(ports, [...releaseQueries(node), isRecorded ? recordQuery : IP_POOLS], (facts) => {
    const isInitialised = know(facts, CLUSTER_INFORMATION) !== undefined;
    const allocated = ownAllocations(facts, NO_DRAFT, id, node).map(addressOf);
    const record = isRecorded ? know(facts, recordQuery)?.value : undefined;
    const ours = isRecorded ? recordedNetworks(record) : poolCidrs(facts);
    return { writes: [], result: { isInitialised, allocated, record, ours } };
  });
}

/** @returns undefined where there is no record, or one without addresses */
function recordedNetworks(record: WorkloadEndpoint | undefined): readonly Prefix[] | undefined {
  const networks = record === undefined ? [] : networksOf(record);
  return networks.length === 0 ? undefined : networks;
}

function poolCidrs(facts: Facts): readonly Prefix[] {
  return toPoolTable(know(facts, IP_POOLS)).pools.map(({ cidr }) => cidr);
}

/** The addresses in `prevResult` that we gave; the others are another plugin's. All of them, where nothing tells. */
function ownAddresses(addresses: readonly Address[], { allocated, ours }: StoredAttachment): readonly Address[] {
  if (ours === undefined) return addresses;
  const prefixes = [...allocated.map(toHostPrefix), ...ours];
  return addresses.filter((address) => prefixes.some((prefix) => containsPrefix(prefix, toHostPrefix(address))));
}

/**
 * Whether the pod's annotations gave it addresses without IPAM. Reads the pod only when an address is not allocated:
 * other CHECKs do not need the API server.
 */
async function isGivenWithoutIpam(call: Call, addresses: readonly Address[], { allocated }: StoredAttachment): Promise<boolean> {
  const isAllocated = (address: Address): boolean => allocated.some((other) => equalAddresses(other, address));
  if (!isMain(call.plugin) || !isPodLookedUp(call) || (allocated.length > 0 && addresses.every(isAllocated))) return false;
  const { readPodFacts } = await import("./pod/ask.ts");
  const pod = await readPodFacts(call);
  return pod.request.addressesWithoutIpam.length > 0;
}

function checkAttachment(call: Call, previous: CniResult, { record }: StoredAttachment, addresses: readonly Address[]): readonly string[] {
  return [
    ...call.ledger.time("kernel", () => checkKernel(call, previous, addresses, record)),
    ...checkRecord(call.environment.containerID, record, addresses),
  ];
}

/** @throws NetplugError badNetns */
function checkKernel(
  call: Call,
  previous: CniResult,
  addresses: readonly Address[],
  record: WorkloadEndpoint | undefined,
): readonly string[] {
  const podMac = record === undefined ? undefined : podMacOf(call, record);
  using netns = openNetnsOfCall(call);
  return checkLink(call.host, netns, { names: linkNamesOf(call), addresses, podMac }, previous);
}

/** The pod side's MAC from the record. On Kubernetes the record is a view of the pod, and its annotation names the MAC, if any. */
function podMacOf(call: LocalCall, { metadata, spec }: WorkloadEndpoint): MacAddress | undefined {
  if (spec.mac !== undefined) return tryParseMac(spec.mac);
  const asked = metadata.annotations?.[`${ANNOTATION_PREFIX}hwAddr`] ?? "";
  return tryParseMac(asked) ?? requestedMac(call) ?? toOwnMac(workloadOf(call));
}

function checkAllocations(allocated: readonly Address[], addresses: readonly Address[]): readonly string[] {
  const faults = addresses
    .filter((address) => !allocated.some((other) => equalAddresses(other, address)))
    .map((address) => `datastore: address "${toAddressText(address)}" is not allocated to the attachment`);
  return allocated.length === 0 ? ["datastore: the attachment has no address", ...faults] : faults;
}

function checkRecord(containerID: string, record: WorkloadEndpoint | undefined, addresses: readonly Address[]): readonly string[] {
  if (record === undefined) return ["datastore: the workload endpoint is missing"];
  if (record.spec.containerID !== containerID) {
    return [`datastore: the workload endpoint is of container ${quoteValue(record.spec.containerID ?? "")}`];
  }
  const recorded = networksOf(record);
  return addresses
    .map(toHostPrefix)
    .filter((address) => !recorded.some((other) => equalPrefixes(other, address)))
    .map((address) => `datastore: the workload endpoint lacks address "${toPrefixText(address)}"`);
}
