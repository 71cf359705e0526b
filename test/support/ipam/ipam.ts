/** For tests of address management: a datastore with pools and settings, nodes, and requests. */

import type { AttachmentId } from "../../../src/api/ipam-block.ts";
import type { IPAMConfigurationSpec } from "../../../src/api/ipam-configuration.ts";
import type { IPPoolSpec } from "../../../src/api/ip-pool.ts";
import { API_VERSION, type Kind, type Resource } from "../../../src/api/resource.ts";
import type { Datastore } from "../../../src/datastore/datastore.ts";
import { MemoryDatastore } from "../../../src/datastore/memory/memory-datastore.ts";
import type { AllocatedAddress } from "../../../src/ipam/plan-allocation.ts";
import type { AddressRequest } from "../../../src/ipam/request.ts";
import { allocate } from "../../../src/ipam/allocate.ts";
import type { TransactPorts } from "../../../src/ipam/transact/transact.ts";
import { startDeadline } from "../../../src/lib/deadline.ts";
import { type Family, toAddressText } from "../../../src/lib/ip/address.ts";
import { toPrefixText } from "../../../src/lib/ip/prefix.ts";
import { seededRandom } from "../seeded-random.ts";
import { type FakeClock, fakeClock } from "../time/fake-clock.ts";
import { releaseAttachment } from "./ipam-operations.ts";

/** One world: a datastore and a clock that moves only when told, with short words for what tests do in it. */
export interface IpamWorld {
  readonly clock: FakeClock;
  readonly datastore: Datastore;
  /** With a minute from now. */
  readonly ports: TransactPorts;
  /** Creates or replaces a resource. */
  put(kind: Kind, name: string, spec: object, metadata?: Partial<Resource["metadata"]>): Promise<void>;
  putPool(name: string, cidr: string, spec?: Partial<IPPoolSpec>, createdAt?: string): Promise<void>;
  configure(spec: IPAMConfigurationSpec): Promise<void>;
  /** Allocates for container `name`. @returns address texts */
  add(name: string, node: string, request?: Partial<AddressRequest>): Promise<readonly string[]>;
  del(name: string, node: string): Promise<readonly string[]>;
  /** All blocks as `cidr node used/size`. */
  blocks(): Promise<readonly string[]>;
}

export const NETWORK = "pods";

/** An initialised datastore without pools. */
export async function createIpamWorld(datastore: Datastore = new MemoryDatastore()): Promise<IpamWorld> {
  const clock = fakeClock();
  const random = seededRandom(1);
  const world: IpamWorld = {
    clock,
    datastore,
    get ports() {
      return { datastore, clock, random, deadline: startDeadline(clock, 60_000) };
    },
    async put(kind, name, spec, metadata = {}) {
      const resource: Resource = { apiVersion: API_VERSION, kind, metadata: { name, ...metadata }, spec };
      const [stored] = await datastore.read([{ type: "get", ref: { kind, name } }]);
      await datastore.commit([stored === undefined ? { op: "create", resource } : { op: "update", resource, revision: stored.revision }]);
    },
    async putPool(name, cidr, spec = {}, createdAt) {
      await world.put("IPPool", name, { cidr, ...spec }, createdAt === undefined ? {} : { creationTimestamp: createdAt });
    },
    configure: (spec) => world.put("IPAMConfiguration", "default", spec),
    async add(name, node, request = {}) {
      return textsOf(await allocate(world.ports, requestFor(name, node, request)));
    },
    async del(name, node) {
      const released = await releaseAttachment(world.ports, idOf(name), node);
      return released.map(({ address }) => toAddressText(address));
    },
    async blocks() {
      const [blocks] = await datastore.read([{ type: "all-blocks" }]);
      const texts = blocks.map(({ value: { cidr, node, allocations, free } }) => {
        const size = allocations.length + free.length;
        return `${toPrefixText(cidr)} ${node} ${allocations.length}/${size}`;
      });
      return texts.sort();
    },
  };
  await world.put("ClusterInformation", "default", { datastoreReady: true, clusterGUID: "0".repeat(32) });
  return world;
}

export function textsOf(addresses: readonly AllocatedAddress[]): readonly string[] {
  return addresses.map(({ address }) => toAddressText(address));
}

export function idOf(containerID: string): AttachmentId {
  return { network: NETWORK, containerID, ifName: "eth0" };
}

export function requestFor(containerID: string, node: string, request: Partial<AddressRequest> = {}): AddressRequest {
  const families: readonly Family[] = [4];
  return {
    owner: { ...idOf(containerID), node },
    use: "Workload",
    families,
    pools: {},
    addresses: [],
    namespaceLabels: {},
    podLabels: {},
    ...request,
  };
}
