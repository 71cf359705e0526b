/** What a DEL undoes in the datastore: the addresses of an attachment and its record. Pure. */

import type { AllocationOwner } from "../api/ipam-block.ts";
import type { WorkloadEndpoint } from "../api/workload-endpoint.ts";
import type { Query, Revision, Write } from "../datastore/datastore.ts";
import { expectNotFrozen } from "../ipam/cluster.ts";
import { type Facts, know, withoutRepeats } from "../ipam/facts.ts";
import { planReleaseOf, type ReleasePlan, releaseQueries } from "../ipam/plan-release.ts";
import type { Address } from "../lib/ip/address.ts";
import { type RecordQuery, toRecordQuery } from "./record.ts";

/** What is to be removed: the allocations and records that the two predicates pick. */
export interface DelRequest {
  readonly node: string;
  /** Whether this owner's allocations are released. */
  readonly isTargetOwner: (owner: AllocationOwner) => boolean;
  /** Of those only these addresses. @default all */
  readonly addresses?: readonly Address[] | undefined;
  /** Whether a record is deleted: never one that another container of the pod has taken over. */
  readonly isTargetRecord: (record: WorkloadEndpoint) => boolean;
  /** Records to look at, besides those that the released allocations name; "none": look at none, all have ended already. */
  readonly records: readonly RecordQuery[] | "none";
}

/** What {@link planDel} is certain to ask for: one round trip. */
export function delQueries({ node, records }: Pick<DelRequest, "node" | "records">): readonly Query[] {
  return [...releaseQueries(node), ...(records === "none" ? [] : records)];
}

/**
 * Plans a removal. It also works on a locked datastore; one that was never initialised has nothing to remove.
 *
 * @param now seconds since 1970
 * @throws {NetplugError} tryAgainLater while nothing at all may be written
 * @throws {FactsWanted} what must be read first
 */
export function planDel(request: DelRequest, facts: Facts, now: number): ReleasePlan {
  const release = planReleaseOf(request.isTargetOwner, request.node, facts, now, request.addresses);
  const owners = release.released.map(({ owner }) => owner);
  const records = request.records === "none" ? [] : withoutRepeats([...request.records, ...recordsNamedBy(owners)]);
  const ends = endWritesOf(records, owners, request.isTargetRecord, facts);
  // A release's writes contain the condition; without one, when a delegate gave the addresses, it is added.
  const condition = release.writes.length === 0 && ends.length > 0 ? [expectNotFrozen(facts)] : [];
  return { ...release, writes: [...condition, ...release.writes, ...ends] };
}

/** The writes that end the picked records. @param owners whose addresses are released */
export function endWritesOf(
  records: readonly RecordQuery[],
  owners: readonly AllocationOwner[],
  isTargetRecord: DelRequest["isTargetRecord"],
  facts: Facts,
): readonly Write[] {
  return records.flatMap((query): readonly Write[] => {
    const stored = know(facts, query, () => records);
    if (stored === undefined) return [];
    const { value, revision } = stored;
    return isTargetRecord(value) ? [{ op: "delete", ref: query.ref, revision }] : endUnrecorded(value, revision, owners);
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

/** The records that the owners' allocations name, each once. */
export function recordsNamedBy(owners: readonly AllocationOwner[]): readonly RecordQuery[] {
  const named = owners.flatMap(({ endpoint, namespace }) =>
    endpoint === undefined || namespace === undefined ? [] : [toRecordQuery({ namespace, name: endpoint })],
  );
  return withoutRepeats(named);
}
