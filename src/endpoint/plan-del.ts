/** What a DEL undoes in the datastore: the addresses of an attachment and its record. Pure. */

import type { WorkloadEndpoint } from "../api/workload-endpoint.ts";
import type { Query, ResourceRef, Revision, Stored, Write } from "../datastore/datastore.ts";
import { expectNotFrozen } from "../ipam/cluster.ts";
import { collectWanted, type Facts, know, withoutRepeats } from "../ipam/facts.ts";
import { planReleaseOf, type ReleasedAddress, releaseQueries } from "../ipam/release.ts";
import type { AllocationOwner } from "../api/ipam-block.ts";

/** What is taken away: all allocations whose owner, and all records whose endpoint, is meant. */
export interface DelRequest {
  readonly node: string;
  /** Whether an allocation on this node goes. */
  readonly isOwnerMeant: (owner: AllocationOwner) => boolean;
  /** Whether a record goes: never that of another container which took the pod's name over. */
  readonly isEndpointMeant: (endpoint: WorkloadEndpoint) => boolean;
  /** Records to look at, besides those that the released allocations name; "none": none at all, they have ended. */
  readonly endpoints: readonly ResourceRef[] | "none";
}

/** A decision, or the queries to answer first. */
export type DelPlan =
  | { readonly wanted: readonly Query[] }
  | {
      readonly released: readonly ReleasedAddress[];
      readonly removed: readonly ResourceRef[];
      /** With the condition under which they may be made; none when there is nothing to take away. */
      readonly writes: readonly Write[];
      /** False: there is more to take away. Plan again when this is committed. */
      readonly isAll: boolean;
    };

/** What {@link planDel} is certain to ask for: one round trip. */
export function delQueries({ node, endpoints }: Pick<DelRequest, "node" | "endpoints">): readonly Query[] {
  return [...releaseQueries(node), ...(endpoints === "none" ? [] : endpoints.map(toQuery))];
}

/**
 * Plans it. A datastore that was never initialised holds nothing, and one that is locked still lets go.
 *
 * @param now seconds since 1970
 * @throws {NetplugError} tryAgainLater while nothing at all may be written
 */
export function planDel(request: DelRequest, facts: Facts, now: number): DelPlan {
  const release = planReleaseOf(request.isOwnerMeant, request.node, facts, now);
  if ("wanted" in release) return release;
  const decision = collectWanted(() => {
    const notFrozen = expectNotFrozen(facts);
    const owners = release.released.map(({ owner }) => owner);
    const refs = request.endpoints === "none" ? [] : refsOf(request.endpoints, owners);
    const ends = endRecords(refs, owners, request.isEndpointMeant, facts);
    const removed = ends.flatMap((write) => (write.op === "delete" ? [write.ref] : []));
    // A release has the condition already; a record that ends alone, whose addresses are a delegate's, needs it too.
    const condition = release.writes.length === 0 && ends.length > 0 ? [notFrozen] : [];
    return { released: release.released, removed, writes: [...condition, ...release.writes, ...ends], isAll: release.isAll };
  });
  return "wanted" in decision ? decision : decision.decided;
}

/** What ends the records that are meant. @param owners whose addresses are released */
export function endRecords(
  refs: readonly ResourceRef[],
  owners: readonly AllocationOwner[],
  isEndpointMeant: DelRequest["isEndpointMeant"],
  facts: Facts,
): readonly Write[] {
  return refs.flatMap((ref): readonly Write[] => {
    const stored = know(facts, { type: "get", ref }, () => refs.map(toQuery));
    if (stored === undefined) return [];
    const endpoint = stored.value as WorkloadEndpoint;
    const { revision }: Stored<unknown> = stored;
    return isEndpointMeant(endpoint) ? [{ op: "delete", ref, revision }] : endUnrecorded(endpoint, revision, owners);
  });
}

/**
 * On Kubernetes the record is written after the address, and by a request of its own: when the ADD was killed it may still be on its way.
 * So the pod is told first that this container's addresses are over, which such a request takes for somebody else's record.
 */
function endUnrecorded(
  { metadata, spec, ...rest }: WorkloadEndpoint,
  revision: Revision,
  owners: readonly AllocationOwner[],
): readonly Write[] {
  const owner = owners.find((one) => one.endpoint === metadata.name && one.namespace === metadata.namespace);
  if (spec.containerID !== undefined || owner?.podUID === undefined || owner.podUID !== metadata.uid) return [];
  const resource = { ...rest, metadata, spec: { ...spec, containerID: owner.containerID, ipNetworks: [] } };
  return [{ op: "update", resource, revision }];
}

/** These, and those that the owners' allocations name. */
export function refsOf(refs: readonly ResourceRef[], owners: readonly AllocationOwner[]): readonly ResourceRef[] {
  const named = owners.flatMap(({ endpoint, namespace }): ResourceRef[] =>
    endpoint === undefined || namespace === undefined ? [] : [{ kind: "WorkloadEndpoint", namespace, name: endpoint }],
  );
  const queries = withoutRepeats([...refs, ...named].map(toQuery));
  return queries.flatMap((query) => (query.type === "get" ? [query.ref] : []));
}

function toQuery(ref: ResourceRef): Query {
  return { type: "get", ref };
}
