/** What a DEL undoes in the datastore: the addresses of an attachment and its record. Pure. */

import type { WorkloadEndpoint } from "../api/workload-endpoint.ts";
import { CLUSTER_INFORMATION_QUERY, requireReady } from "../datastore/cluster-state.ts";
import type { Query, ResourceRef, Stored, Write } from "../datastore/datastore.ts";
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
    const records = refsOf(request, release.released).flatMap((ref) => {
      const stored = know(facts, { type: "get", ref });
      return stored !== undefined && request.isEndpointMeant(stored.value as WorkloadEndpoint) ? [{ ref, stored }] : [];
    });
    const deletes = records.map(({ ref, stored }): Write => ({ op: "delete", ref, revision: (stored satisfies Stored<unknown>).revision }));
    const removed = records.map(({ ref }) => ref);
    return { released: release.released, removed, writes: [...release.writes, ...deletes], isAll: release.isAll };
  });
  return "wanted" in decision ? decision : decision.decided;
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
