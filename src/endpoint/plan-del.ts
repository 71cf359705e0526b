/** What a DEL undoes in the datastore: the addresses of an attachment and its record. Pure. */

import type { WorkloadEndpoint } from "../api/workload-endpoint.ts";
import { CLUSTER_INFORMATION_QUERY, requireReady } from "../datastore/cluster-state.ts";
import type { Query, ResourceRef, Revision, Stored, Write } from "../datastore/datastore.ts";
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
  /** Records to look at, besides those that the released allocations name. */
  readonly endpoints: readonly ResourceRef[];
}

/** A decision, or the queries to answer first. */
export type DelPlan =
  | { readonly wanted: readonly Query[] }
  | {
      readonly released: readonly ReleasedAddress[];
      readonly removed: readonly ResourceRef[];
      readonly writes: readonly Write[];
      /** False: there is more to take away. Plan again when this is committed. */
      readonly isAll: boolean;
    };

/** What {@link planDel} is certain to ask for: one round trip. */
export function delQueries({ node, endpoints }: Pick<DelRequest, "node" | "endpoints">): readonly Query[] {
  return [...releaseQueries(node), ...endpoints.map((ref): Query => ({ type: "get", ref }))];
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
    const cluster = know(facts, CLUSTER_INFORMATION_QUERY);
    if (cluster !== undefined) requireReady(cluster, "release");
    const removed: ResourceRef[] = [];
    const ends: Write[] = [];
    for (const ref of refsOf(request, release.released)) {
      const stored = know(facts, { type: "get", ref });
      if (stored === undefined) continue;
      const endpoint = stored.value as WorkloadEndpoint;
      if (request.isEndpointMeant(endpoint)) {
        removed.push(ref);
        ends.push({ op: "delete", ref, revision: (stored satisfies Stored<unknown>).revision });
      } else ends.push(...endUnrecorded(endpoint, stored.revision, release.released));
    }
    return { released: release.released, removed, writes: [...release.writes, ...ends], isAll: release.isAll };
  });
  return "wanted" in decision ? decision : decision.decided;
}

/**
 * On Kubernetes the record is written after the address, and by a request of its own: when the ADD was killed it may still be on its way. So the pod
 * is told first that this container's addresses are over, which such a request takes for somebody else's record.
 */
function endUnrecorded(
  { metadata, spec, ...rest }: WorkloadEndpoint,
  revision: Revision,
  released: readonly ReleasedAddress[],
): readonly Write[] {
  const owner = released.find((one) => one.owner.endpoint === metadata.name && one.owner.namespace === metadata.namespace)?.owner;
  if (spec.containerID !== undefined || owner?.podUID === undefined || owner.podUID !== metadata.uid) return [];
  const resource = { ...rest, metadata, spec: { ...spec, containerID: owner.containerID, ipNetworks: [] } };
  return [{ op: "update", resource, revision }];
}

function refsOf(request: DelRequest, released: readonly ReleasedAddress[]): readonly ResourceRef[] {
  const named = released.flatMap(({ owner }): ResourceRef[] =>
    owner.endpoint === undefined || owner.namespace === undefined
      ? []
      : [{ kind: "WorkloadEndpoint", namespace: owner.namespace, name: owner.endpoint }],
  );
  const queries = withoutRepeats([...request.endpoints, ...named].map((ref): Query => ({ type: "get", ref })));
  return queries.flatMap((query) => (query.type === "get" ? [query.ref] : []));
}
