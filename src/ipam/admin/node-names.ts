/** What the datastore tells of a host's name as a node, by the attachments that are seen on it. */

import type { AttachmentId } from "../../api/ipam-block.ts";
import type { WorkloadEndpoint } from "../../api/workload-endpoint.ts";
import { type Address, toAddressText } from "../../lib/ip/address.ts";
import { isSameAttachment } from "../block.ts";
import type { Inventory } from "./inventory.ts";

/** An address that an attachment on the host has. */
export interface SeenAddress {
  readonly attachment: AttachmentId;
  readonly address: Address;
}

/** A name that something of the host was given under. */
export interface NameWitness {
  readonly name: string;
  /** What was: an address, or a container ID. */
  readonly what: string;
}

/** The name under which an address is allocated. */
export interface AllocatedName extends NameWitness {
  /** Whether an ADD got it, which knows the node's name: the UID of a pod says so. Without one nobody can tell. */
  readonly isByPlugin: boolean;
}

/** The names by which a host may go. */
export interface HostNames {
  /** Of its addresses that are allocated. */
  readonly allocated: readonly AllocatedName[];
  /** Of its containers whose endpoints are recorded. On Kubernetes that is Kubernetes' name, which need not be the node's own. */
  readonly recorded: readonly NameWitness[];
  /** Whom something else than these names: other nodes, unless a Node object is the host's own. */
  readonly others: ReadonlySet<string>;
}

/** Looks at everything once. */
export function namesOfHost(seen: readonly SeenAddress[], { allocations, endpoints, nodes }: Inventory): HostNames {
  const containers = new Set(seen.map(({ attachment }) => keyOf(attachment)));
  const isOfHost = ({ spec: { containerID = "", endpoint } }: WorkloadEndpoint): boolean =>
    containers.has(keyOf({ containerID, ifName: endpoint }));
  const placed = endpoints.filter(({ spec }) => spec.node !== "");
  const owners = [...allocations.values()].map(({ owner }) => owner);
  return {
    allocated: seen.flatMap(({ attachment, address }) => {
      const what = toAddressText(address);
      const owner = allocations.get(what)?.owner;
      return owner !== undefined && isSameAttachment(owner, attachment)
        ? [{ name: owner.node, what, isByPlugin: owner.podUID !== undefined }]
        : [];
    }),
    recorded: placed.filter(isOfHost).map(({ spec: { node, containerID = "" } }) => ({ name: node, what: containerID })),
    others: new Set([
      ...nodes,
      ...owners.filter((owner) => !containers.has(keyOf(owner))).map(({ node }) => node),
      ...placed.filter((endpoint) => !isOfHost(endpoint)).map(({ spec }) => spec.node),
    ]),
  };
}

/** Without the network, which no endpoint names. */
function keyOf({ containerID, ifName }: Omit<AttachmentId, "network">): string {
  return `${containerID}/${ifName}`;
}
