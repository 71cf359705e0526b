/**
 * What an ADD does, decided without doing it: addresses, records and link of one attachment or of several that are committed together.
 *
 * The plugin calls it with facts that it read for one ADD; it is made so that an agent can call it with facts from its caches, for all
 * that arrived at once.
 */

import { recordedAddresses, type WorkloadEndpoint } from "../api/workload-endpoint.ts";
import { CLUSTER_INFORMATION } from "../datastore/cluster-state.ts";
import type { Query, QueryOf, Write } from "../datastore/datastore.ts";
import {
  type AllocatedAddress,
  type AllocationOutcome,
  allocationQueries,
  type AllocationSubject,
  hasAllAddresses,
  hasAnyAddress,
  planAllocation,
} from "../ipam/plan-allocation.ts";
import { expectReady } from "../ipam/cluster.ts";
import { collectWanted, type Facts, know, withoutRepeats } from "../ipam/facts.ts";
import type { AddressRequest } from "../ipam/request.ts";
import type { Try } from "../ipam/transact/transact.ts";
import { NetplugError } from "../lib/errors.ts";
import type { Address } from "../lib/ip/address.ts";
import { type AttachmentPlan, type AttachmentRequest, planAttachment } from "./plan-attachment.ts";
import { type EndpointSubject, recordQueryOf } from "./record.ts";

/** One ADD: an attachment, and who manages its addresses. */
export type AddRequest = { readonly attachment: AttachmentRequest } & (Managed | Unmanaged | Delegated);

/** netplug-ipam, which is to allocate them. */
interface Managed {
  readonly ipam: AddressRequest;
}

/** Nobody: they are used as they are. Those of the attachment's record rank before them while they are allocated to it. */
interface Unmanaged {
  readonly unmanaged: UnmanagedRequest;
}

/** Another plugin, which gives them. */
interface Delegated {
  /** Empty: it has not been asked yet. */
  readonly delegated: readonly Address[];
}

/** Addresses that an annotation of the pod asks for, or that a running pod has, and netplug-ipam does not know. */
export type UnmanagedRequest = Pick<AddressRequest, "owner" | "addresses" | "namedBy">;

/** The part of an ADD that decides what must be read for it: an {@link AddRequest}, or what is known of it while its pod is still being read. */
export interface AddSubject {
  readonly attachment: EndpointSubject & Pick<AttachmentRequest, "completeRecord">;
  readonly ipam?: AllocationSubject | undefined;
}

/** How one ADD ended in the plan. */
export type AddOutcome =
  | (AttachmentPlan & {
      readonly addresses: readonly Address[];
      /** Those that the attachment did not have; none where the datastore already has a record of it with addresses. */
      readonly added: readonly Address[];
      /** Whether these are all. */
      readonly isNew: boolean;
    })
  | FailedAdd;

/** Why one ADD has failed. */
interface FailedAdd {
  readonly error: NetplugError;
  /** It failed after it got addresses. @default false */
  readonly hadAddresses?: boolean;
}

/** What several ADDs come to, and the one commit that carries them out. */
export interface AddPlan {
  /** By position of the request. */
  readonly outcomes: readonly AddOutcome[];
  /** For one commit; none when everything is recorded already. */
  readonly writes: readonly Write[];
  /** As those of an allocation plan. */
  readonly prefetch: readonly Query[];
  /** As those of an allocation plan. */
  readonly defects: Iterable<string>;
  /** As those of an allocation plan: they only get addresses, which their own ADDs record. */
  readonly served: readonly AddressRequest[];
}

/** What {@link planAdds} is certain to ask for: one round trip. */
export function addQueries(subjects: readonly AddSubject[]): readonly Query[] {
  const own = subjects.flatMap(({ ipam }) => (ipam === undefined ? [] : [ipam]));
  const records = subjects.flatMap(({ attachment }): Query[] => [
    recordQueryOf(attachment),
    ...(attachment.completeRecord === undefined ? [profileQuery(attachment)] : []),
  ]);
  return withoutRepeats([CLUSTER_INFORMATION, ...(own.length > 0 ? allocationQueries(own) : []), ...records]);
}

function profileQuery({ network }: Pick<EndpointSubject, "network">): QueryOf<"get"> {
  return { type: "get", ref: { kind: "Profile", name: network } };
}

/**
 * Plans several ADDs; one that cannot be served does not stop the others.
 *
 * @throws {NetplugError} notInitialised or tryAgainLater when the datastore takes nothing at all
 * @throws {FactsWanted} what must be read first
 */
export function planAdds(asked: readonly AddRequest[], facts: Facts, attempt: Try): AddPlan {
  const requests = asked.map((request) => keepRecorded(request, facts));
  return planTogether(requests, facts, attempt);
}

/** @param requests in the place of one that is left out stands its failure, which is its outcome then */
function planTogether(requests: readonly (AddRequest | FailedAdd)[], facts: Facts, attempt: Try): AddPlan {
  const own = requests.flatMap((request) => ("ipam" in request ? [request.ipam] : []));
  const allocation =
    own.length === 0
      ? { outcomes: [], writes: [], stillAllocated: [], prefetch: [], defects: [], served: [] }
      : planAllocation(own, facts, attempt);
  const { prefetch, defects, served } = allocation;
  const ready = expectReady(facts);
  // One for each request that wants some, in this order.
  const allocated = allocation.outcomes.values();
  const outcomes = requests.map((request): AddOutcome => {
    if ("error" in request) return request;
    const outcome = "ipam" in request ? allocated.next().value : undefined;
    return planOne(request, outcome, facts, attempt);
  });
  // Nobody keeps the addresses of a request that failed after it got them: another one may need them.
  const others = requests.map((request, i) => lateFailureOf(outcomes[i]) ?? request);
  if (others.some((one, i) => one !== requests[i])) return { ...planTogether(others, facts, attempt), defects };
  const records = mergeWrites(outcomes.flatMap((outcome) => ("writes" in outcome ? outcome.writes : [])));
  const writes = [...allocation.writes, ...records];
  // An allocation's writes contain the condition.
  const conditions = [...(allocation.writes.length > 0 ? [] : [ready]), ...allocation.stillAllocated];
  return { outcomes, writes: writes.length > 0 ? [...conditions, ...writes] : [], prefetch, defects, served };
}

/** Why one failed after it got addresses; undefined: it did not. */
function lateFailureOf(outcome: AddOutcome | undefined): FailedAdd | undefined {
  return outcome && "error" in outcome && outcome.hadAddresses ? outcome : undefined;
}

/**
 * For an attachment whose recorded addresses are still allocated to it: a request for exactly these, whatever the config asks for by now.
 */
function keepRecorded(request: AddRequest, facts: Facts): AddRequest {
  const { attachment } = request;
  const owner = addressRequestOf(request)?.owner;
  if (owner === undefined) return request;
  const addresses = recordedFor(attachment, facts);
  if (addresses.length === 0 || !hasAllAddresses(owner, addresses, facts)) return request;
  return { attachment, ipam: { ...ADDRESSES_ONLY, owner, addresses } };
}

/** What others may allocate for an ADD that waits: its request, unless it names addresses, or the datastore already knows the attachment. */
export function toQueueableRequest(request: AddRequest, facts: Facts): AddressRequest | undefined {
  if (!("ipam" in request) || request.ipam.addresses.length > 0) return undefined;
  const { attachment, ipam } = request;
  const isKnown = collectWanted(() => ownRecordOf(attachment, facts) !== undefined || hasAnyAddress(ipam.owner, facts));
  return "decided" in isKnown && !isKnown.decided ? ipam : undefined;
}

/** The record, if it is this container's: its name may have been an earlier container's. */
export function ownRecordOf(attachment: AttachmentRequest, facts: Facts): WorkloadEndpoint | undefined {
  const record = know(facts, recordQueryOf(attachment))?.value;
  return record?.spec.containerID === attachment.workload.containerID ? record : undefined;
}

/** What asks for addresses, whether netplug-ipam manages them or nobody; undefined: they are left to a delegate. */
export function addressRequestOf(request: AddRequest): AddressRequest | UnmanagedRequest | undefined {
  if ("delegated" in request) return undefined;
  return "ipam" in request ? request.ipam : request.unmanaged;
}

/** Who asks for these very addresses, for messages; undefined: nobody, or they are a delegate's. */
export function askerOf(request: AddRequest): string | undefined {
  return addressRequestOf(request)?.namedBy?.addresses;
}

/** The addresses in this container's record. On Kubernetes a record keeps the container ID after its addresses were released. */
function recordedFor(attachment: AttachmentRequest, facts: Facts): readonly Address[] {
  const record = ownRecordOf(attachment, facts);
  return record === undefined ? [] : recordedAddresses(record);
}

/** The rest of an address request that asks for exact addresses, and nothing else. */
export const ADDRESSES_ONLY = { use: "Workload", families: [], pools: {}, namespaceLabels: {}, podLabels: {} } as const;

function planOne(request: AddRequest, allocated: AllocationOutcome | undefined, facts: Facts, { now }: Try): AddOutcome {
  if (allocated !== undefined && "error" in allocated) return allocated;
  const addresses = toAddresses(request, allocated?.addresses ?? []);
  const attachment = { ...request.attachment, hasOtherIpam: !("ipam" in request) };
  const stored = know(facts, recordQueryOf(attachment));
  const hasProfile = attachment.completeRecord === undefined && know(facts, profileQuery(attachment)) !== undefined;
  try {
    const plan = planAttachment(attachment, addresses, { record: stored, hasProfile, now });
    const isRecorded = recordedFor(attachment, facts).length > 0;
    const added = isRecorded ? [] : addresses.filter((_, i) => allocated?.addresses[i]?.isNew ?? true);
    return { ...plan, addresses, added, isNew: added.length === addresses.length };
  } catch (thrown) {
    if (thrown instanceof NetplugError) return { error: thrown, hadAddresses: allocated !== undefined };
    throw thrown;
  }
}

/** The addresses that the attachment uses, by who manages them. */
function toAddresses(request: AddRequest, allocated: readonly AllocatedAddress[]): readonly Address[] {
  if ("delegated" in request) return request.delegated;
  if ("unmanaged" in request) return request.unmanaged.addresses;
  return allocated.map(({ address }) => address);
}

/** Keeps the last of several writes to one record: a transaction takes only one for each key. */
function mergeWrites(writes: readonly Write[]): readonly Write[] {
  const byPlace = new Map<string, Write>();
  for (const write of writes) {
    if (write.op !== "create" && write.op !== "update") continue;
    const { kind, metadata } = write.resource;
    byPlace.set(`${kind}/${metadata.namespace ?? ""}/${metadata.name}`, write);
  }
  return [...byPlace.values()];
}
