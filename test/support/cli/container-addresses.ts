/** For tests: addresses that containers have without an ADD or a DEL: only their blocks say so. */

import type { AllocationOwner } from "../../../src/api/ipam-block.ts";
import type { Datastore } from "../../../src/datastore/datastore.ts";
import { allocate } from "../../../src/ipam/allocate.ts";
import { parseAddress, toAddressText } from "../../../src/lib/ip/address.ts";
import { idOf, requestFor } from "../ipam/ipam.ts";
import { releaseAttachment } from "../ipam/ipam-operations.ts";
import { systemPorts } from "../ipam/system-ports.ts";

export interface AllocationOptions {
  /** @default any IPv4 address */
  readonly address?: string;
  /** What else the block says of the owner. */
  readonly owner?: Partial<AllocationOwner>;
  /** How long the container has had it. @default 0 */
  readonly agoMs?: number;
}

/** Gives a container one address. @returns it */
export async function allocateFor(
  datastore: Datastore,
  containerID: string,
  node: string,
  options: AllocationOptions = {},
): Promise<string> {
  const { address, owner = {}, agoMs } = options;
  const request = requestFor(containerID, node, address === undefined ? {} : { addresses: [parseAddress(address)] });
  const [allocated] = await allocate(systemPorts(datastore, agoMs), { ...request, owner: { ...request.owner, ...owner } });
  if (allocated === undefined) throw new Error(`allocate for "${containerID}": got no address`);
  return toAddressText(allocated.address);
}

/** Releases all addresses of a container. @returns them */
export async function releaseOf(datastore: Datastore, containerID: string, node: string): Promise<readonly string[]> {
  const released = await releaseAttachment(systemPorts(datastore), idOf(containerID), node);
  return released.map(({ address }) => toAddressText(address));
}

/** How a test gives its containers addresses and takes them away. */
export interface ContainerAddresses {
  /** Gives one address to a container. @returns it */
  give(containerID: string, node: string, options?: AllocationOptions): Promise<string>;
  /** Releases all that a container has. */
  take(containerID: string, node: string): Promise<void>;
}

/** @param world whose datastore at that moment is meant */
export function containerAddressesIn(world: { readonly datastore: Datastore }): ContainerAddresses {
  return {
    give: (containerID, node, options) => allocateFor(world.datastore, containerID, node, options),
    take: async (containerID, node) => void (await releaseOf(world.datastore, containerID, node)),
  };
}
