/** What a DEL undoes in the datastore: the addresses of an attachment and its record. Pure. */

import type { WorkloadEndpoint } from "../api/workload-endpoint.ts";
import type { Query, ResourceRef, Revision, Stored, Write } from "../datastore/datastore.ts";
import { expectNotFrozen } from "../ipam/cluster.ts";
import { collectWanted, type Facts, know, withoutRepeats } from "../ipam/facts.ts";
import { planReleaseOf, type ReleasedAddress, releaseQueries } from "../ipam/release.ts";
import type { AllocationOwner } from "../api/ipam-block.ts";

/** What is to be removed: the allocations and records that the two predicates pick. */
export interface DelRequest {
  readonly node: string;
  /** Whether this owner's allocations are released. */
  readonly isOwnerMeant: (owner: AllocationOwner) => boolean;
  /** Whether a record is deleted: never one that another container of the pod has taken over. */
  readonly isEndpointMeant: (endpoint: WorkloadEndpoint) => boolean;
  /** Records to look at, besides those that the released allocations name; "none": look at none, all have ended already. */
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
 * Plans a removal. It also works on a locked datastore; one that was never initialised has nothing to remove.
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
    // A release's writes contain the condition; without one, when a delegate gave the addresses, it is added.
    const condition = release.writes.length === 0 && ends.length > 0 ? [notFrozen] : [];
    return { released: release.released, removed, writes: [...condition, ...release.writes, ...ends], isAll: release.isAll };
  });
  return "wanted" in decision ? decision : decision.decided;
}

/** The writes that end the picked records. @param owners whose addresses are released */
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
 * On Kubernetes an ADD writes the record after the address, in a separate request, which may arrive even after the ADD was killed. So the
 * DEL first records this container without addresses: the late request then finds a changed record, and fails.
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

/** `refs`, and the records that the owners' allocations name. */
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
