/** All that a consistency check compares. */

import type { Allocation, Block } from "../../../api/ipam-block.ts";
import { endingAddresses, reportedAddresses } from "../../../api/reported-addresses.ts";
import type { Kind, Resource } from "../../../api/resource.ts";
import { silentSince } from "../../../api/silent-node.ts";
import { recordedAddresses, type WorkloadEndpoint } from "../../../api/workload-endpoint.ts";
import type { Damage, Datastore } from "../../../datastore/datastore.ts";
import { type Address, toAddressText } from "../../../lib/ip/address.ts";
import { addressAt, type Prefix } from "../../../lib/ip/prefix.ts";
import { prefixSetOf, type PrefixSet } from "../../../lib/ip/prefix-set.ts";
import { IP_POOLS, IP_RESERVATIONS } from "../../cluster.ts";
import { toPoolTable } from "../../pools.ts";
import { type AllBlocks, readAllBlocks } from "../blocks/blocks.ts";
import { isCopied } from "../endpoints/copied-record.ts";
import { DamageList } from "../blocks/damage-list.ts";
import { type PodCidrs, podCidrsByNode } from "../endpoints/managed-elsewhere.ts";
import { findIndexFaults } from "./find-index-faults.ts";
import type { IndexFault } from "./index-faults.ts";
import { cidrOfPool } from "../pools/pool-cidr.ts";
import { type PoolWarning, poolWarnings } from "../pools/pool-warnings.ts";
import { poolsOverNodes } from "../pools/pools-over-nodes.ts";
import { poolsOverServices, type ServiceCidr } from "../pools/pools-over-services.ts";

/** Read once, so that all checks look at the same. */
export interface Inventory extends AllBlocks {
  /** What is not as netplug writes it: blocks, and what should be a block. */
  readonly damagedBlocks: readonly Damage[];
  /** Resources that cannot be read; what they would say is unknown. */
  readonly unread: readonly UnreadResource[];
  readonly pools: readonly Prefix[];
  readonly poolWarnings: readonly PoolWarning[];
  readonly inPools: PrefixSet;
  readonly nodes: ReadonlySet<string>;
  /** Those that Kubernetes does not hear of, and since when. */
  readonly silentNodes: ReadonlyMap<string, string>;
  readonly podCidrs: PodCidrs;
  readonly endpoints: readonly WorkloadEndpoint[];
  /** Whether these are of all pods that a node has taken, those of other main plugins too. */
  readonly areRecordsPods: boolean;
  /** Allocations by address text. */
  readonly allocations: ReadonlyMap<string, Allocation>;
  /** Endpoints by address text; without those whose record is a copy of another pod's. */
  readonly users: ReadonlyMap<string, readonly WorkloadEndpoint[]>;
  /** The same for what no record says, but a kubelet. */
  readonly reported: ReadonlyMap<string, readonly WorkloadEndpoint[]>;
  /** The same of pods that are being deleted, which may have ended. */
  readonly ending: ReadonlyMap<string, readonly WorkloadEndpoint[]>;
  readonly indexFaults: readonly IndexFault[];
}

/** What could not be decoded, so that a report says what it does not cover. */
export interface UnreadResource {
  readonly kind: Damage["kind"];
  /** Its key. */
  readonly object: string;
  readonly detail: string;
}

/**
 * Reads everything once. While others write it is no snapshot.
 *
 * @param readServices asked when the datastore has answered
 */
export async function takeInventory(datastore: Datastore, readServices?: () => Promise<readonly ServiceCidr[]>): Promise<Inventory> {
  const damage = new DamageList();
  const before = await readAllBlocks(datastore, damage);
  const [pools, nodes, endpoints, reservations] = await datastore.read(
    [IP_POOLS, { type: "list", kind: "Node" }, { type: "list", kind: "WorkloadEndpoint" }, IP_RESERVATIONS],
    damage,
  );
  const services = (await readServices?.()) ?? [];
  const known = pools.map(({ value }) => cidrOfPool(value)).filter((cidr) => cidr !== undefined);
  const usable = toPoolTable(pools).pools.filter(({ unusable }) => unusable === undefined);
  const allocations = new Map<string, Allocation>();
  for (const block of before.blocks) for (const [address, allocation] of allocationsOf(block)) allocations.set(address, allocation);
  const records = endpoints.map(({ value }) => value);
  const areRecordsPods = datastore.traits.recordsArePods;
  const isOwn = (endpoint: WorkloadEndpoint, text: string): boolean => !isCopied(endpoint, allocations.get(text)?.owner);
  const nodeNames = nodes.map(({ value }) => value.metadata.name);
  return {
    ...before,
    pools: known,
    poolWarnings: [
      ...poolWarnings(pools),
      ...poolsOverNodes(usable, nodes, reservations),
      ...poolsOverServices(usable, services, reservations),
    ],
    inPools: prefixSetOf(known),
    nodes: new Set(nodeNames),
    // Elsewhere a Node that somebody copied would say so for ever.
    silentNodes: areRecordsPods ? silenceOf(nodes.map(({ value }) => value)) : new Map(),
    podCidrs: podCidrsByNode(nodes.map(({ value }) => value)),
    endpoints: records,
    areRecordsPods,
    allocations,
    users: usersOf(records, recordedAddresses, areRecordsPods ? isOwn : undefined),
    reported: usersOf(records, reportedAddresses),
    ending: usersOf(records, endingAddresses),
    indexFaults: await findIndexFaults(datastore, before, nodeNames, damage),
    damagedBlocks: damage.ofBlocks,
    unread: damage.ofResources.map(({ kind, name, reason }) => ({ kind, object: name, detail: reason })),
  };
}

/** Whether all resources of a kind were read: if not, what they would say is unknown. */
export function knowsAll({ unread }: Inventory, kind: Kind): boolean {
  return unread.every((resource) => resource.kind !== kind);
}

/** The allocations of a block by address text. */
export function* allocationsOf(block: Block): Generator<readonly [address: string, allocation: Allocation]> {
  for (const allocation of block.allocations) yield [toAddressText(addressAt(block.cidr, allocation.ordinal)), allocation];
}

function silenceOf(nodes: readonly Resource[]): ReadonlyMap<string, string> {
  const silences = new Map<string, string>();
  for (const node of nodes) {
    const since = silentSince(node);
    if (since !== undefined) silences.set(node.metadata.name, since);
  }
  return silences;
}

function usersOf(
  endpoints: readonly WorkloadEndpoint[],
  addressesOf: (endpoint: WorkloadEndpoint) => readonly Address[],
  isOwn: (endpoint: WorkloadEndpoint, address: string) => boolean = () => true,
): ReadonlyMap<string, readonly WorkloadEndpoint[]> {
  const users = new Map<string, WorkloadEndpoint[]>();
  for (const endpoint of endpoints) {
    const addresses = new Set(addressesOf(endpoint).map(toAddressText));
    for (const text of addresses) if (isOwn(endpoint, text)) users.set(text, [...(users.get(text) ?? []), endpoint]);
  }
  return users;
}
