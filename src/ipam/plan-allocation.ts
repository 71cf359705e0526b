/**
 * Decides who gets which address: pure, for one ADD or for several that are committed together.
 *
 * Addresses are sought in this order over all allowed pools: the node's own blocks, a free block of the first pool that has
 * one, an empty block of another node, an address of another node's block.
 */

import { CLUSTER_INFORMATION } from "../datastore/cluster-state.ts";
import type { Query, Write } from "../datastore/datastore.ts";
import { NetplugError } from "../lib/errors.ts";
import type { Address } from "../lib/ip/address.ts";
import type { Prefix } from "../lib/ip/prefix.ts";
import { expectReady, IP_POOLS, IP_RESERVATIONS, IPAM_CONFIGURATION, requireConfiguration } from "./cluster.ts";
import {
  addressOf,
  type Draft,
  type DraftBlock,
  expectUnwritten,
  findAllocation,
  NO_DRAFT,
  type OwnAllocation,
  ownAllocations,
  toBlockWrites,
} from "./draft.ts";
import { type Facts, FactsWanted, know, withoutRepeats } from "./facts.ts";
import { type Pool, toPoolTable } from "./pools.ts";
import type { AddressRequest } from "./request.ts";
import { toReservedSet } from "./reservations.ts";
import { takeAutomatic } from "./search/automatic.ts";
import { takeExplicit } from "./search/explicit.ts";
import { spreadOf } from "./search/slots.ts";
import { planPrefetch } from "./search/prefetch.ts";
import type { TakenAddress, PlanContext } from "./search/plan-context.ts";
import type { Try } from "./transact/transact.ts";

/** An address that a request got. */
export interface AllocatedAddress {
  readonly address: Address;
  /** CIDR of its block. */
  readonly block: Prefix;
  /** False when the attachment had it already. */
  readonly isNew: boolean;
}

/** How a request ended. */
export type AllocationOutcome = { readonly addresses: readonly AllocatedAddress[] } | { readonly error: NetplugError };

/** What several requests come to, and the writes that make it so. */
export interface AllocationPlan {
  /** By position of the request. */
  readonly outcomes: readonly AllocationOutcome[];
  /** At most one per block, with the conditions under which they are right; none when nothing changes. */
  readonly writes: readonly Write[];
  /** Conditions that addresses which are not new are still allocated: for a commit that records them but writes none of their blocks. */
  readonly stillAllocated: readonly Write[];
  /** Queries that the node's next request should send with its first ones; usually none. */
  readonly prefetch: readonly Query[];
  /** For the log: what was left out because it makes no sense, and what to do about it. */
  readonly defects: Iterable<string>;
  /** Those of {@link Try.queued} that the writes serve, too: they change no further block. */
  readonly served: readonly AddressRequest[];
}

/** The part of a request that decides what must be read for it. */
export interface AllocationSubject extends Pick<AddressRequest, "addresses"> {
  readonly owner: Pick<AddressRequest["owner"], "node">;
}

/** What {@link planAllocation} is certain to ask for: one round trip together with the caller's own queries. */
export function allocationQueries(subjects: readonly AllocationSubject[]): readonly Query[] {
  return withoutRepeats([CLUSTER_INFORMATION, IPAM_CONFIGURATION, IP_POOLS, IP_RESERVATIONS, ...subjects.flatMap(subjectQueries)]);
}

function subjectQueries({ owner: { node }, addresses }: AllocationSubject): readonly Query[] {
  return [
    { type: "get", ref: { kind: "Node", name: node } },
    { type: "blocks-of-node", node },
    { type: "blocks-borrowed-by", node },
    ...addresses.map((address): Query => ({ type: "block-of-address", address })),
  ];
}

/**
 * Plans several requests as one set of writes. Each request is all or nothing; one that cannot be served does not stop the
 * others. An attachment that has addresses keeps them.
 *
 * @throws {NetplugError} notInitialised or tryAgainLater when the datastore takes no allocation at all, invalidConfig for settings that cannot be so
 * @throws {FactsWanted} what must be read first, for all requests
 */
export function planAllocation(requests: readonly AddressRequest[], facts: Facts, attempt: Try): AllocationPlan {
  const { ready, context } = survey(requests, facts, attempt);
  const wanted: Query[] = [];
  const outcomes: AllocationOutcome[] = [];
  let draft = NO_DRAFT;
  const pools = new Map<string, Pool>();
  const kept: DraftBlock[] = [];
  for (const request of requests) {
    const served = tryToServe(request, context, draft);
    if (served instanceof FactsWanted) {
      wanted.push(...served.queries);
    } else if (served instanceof NetplugError) {
      outcomes.push({ error: served });
    } else {
      outcomes.push({ addresses: served.addresses });
      draft = served.draft;
      for (const pool of served.pools) pools.set(pool.name, pool);
      kept.push(...served.kept);
    }
  }
  if (wanted.length > 0) throw new FactsWanted(wanted);
  const planned = { outcomes, stillAllocated: expectUnwritten(kept, draft), defects: context.defects };
  if (toBlockWrites(draft).length === 0) return { ...planned, writes: [], prefetch: [], served: [] };
  const all = serveQueued(attempt.queued(), context, draft);
  const blockWrites = toBlockWrites(all.draft);
  // An invalid pool that is repaired meanwhile, and older, takes precedence: its blocks may have another size.
  const invalid = blockWrites.some(({ op }) => op === "create-block") ? context.pools.invalid : [];
  const poolsUnchanged = [...pools.values(), ...invalid].map(({ name, revision }): Write => ({
    op: "expect",
    ref: { kind: "IPPool", name },
    revision,
  }));
  const prefetch = prefetchAfter([...requests, ...all.served], context, all.draft);
  return { ...planned, writes: [ready, ...poolsUnchanged, ...blockWrites], prefetch, served: all.served };
}

/**
 * Serves those requests that change no further block, and so use no further pool. Any other waits for its own turn, and gets its own error.
 */
function serveQueued(
  requests: readonly AddressRequest[],
  context: PlanContext,
  before: Draft,
): Pick<Served, "draft"> & Pick<AllocationPlan, "served"> {
  let draft = before;
  const served: AddressRequest[] = [];
  for (const request of requests) {
    const one = tryToServe(request, context, draft);
    if (!("draft" in one) || one.draft.size > draft.size) continue;
    served.push(request);
    ({ draft } = one);
  }
  return { draft, served };
}

/** Whether an attachment of a node has all of these addresses; may want what {@link planAllocation} wants. @throws FactsWanted */
export function hasAllAddresses(owner: AddressRequest["owner"], addresses: readonly Address[], facts: Facts): boolean {
  const own = ownAllocations(facts, NO_DRAFT, owner, owner.node);
  return addresses.every((address) => findAllocation(own, address) !== undefined);
}

/** Whether it has any address at all. @throws FactsWanted as {@link hasAllAddresses} */
export function hasAnyAddress(owner: AddressRequest["owner"], facts: Facts): boolean {
  return ownAllocations(facts, NO_DRAFT, owner, owner.node).length > 0;
}

/** None for several requests: nobody knows which kind of request comes next. */
function prefetchAfter(requests: readonly AddressRequest[], context: PlanContext, draft: Draft): readonly Query[] {
  const last = requests.at(-1);
  return last === undefined ? [] : withoutRepeats(planPrefetch(last, context, draft, allocationQueries([last])));
}

/** What is the same for all requests. @throws {FactsWanted} with everything that is certain to be wanted besides */
function survey(requests: readonly AddressRequest[], facts: Facts, attempt: Try): { readonly ready: Write; readonly context: PlanContext } {
  try {
    return { ready: expectReady(facts), context: contextOf(facts, attempt) };
  } catch (thrown) {
    if (!(thrown instanceof FactsWanted)) throw thrown;
    throw new FactsWanted([...thrown.queries, ...allocationQueries(requests).filter((query) => facts.find(query) === undefined)]);
  }
}

function contextOf(facts: Facts, { now, salt }: Try): PlanContext {
  const configuration = requireConfiguration(facts);
  const defects = new Set<string>();
  return {
    facts,
    configuration,
    pools: toPoolTable(know(facts, IP_POOLS)),
    reserved: toReservedSet(know(facts, IP_RESERVATIONS), defects),
    defects,
    moment: { now, cooldown: configuration.ipCooldownSeconds },
    spreadFor: (node) => spreadOf(node) + salt,
  };
}

/** What one request comes to. */
interface Served {
  readonly addresses: readonly AllocatedAddress[];
  readonly draft: Draft;
  readonly pools: readonly Pool[];
  /** Those of addresses that are not new. */
  readonly kept: readonly DraftBlock[];
}

function tryToServe(request: AddressRequest, context: PlanContext, before: Draft): Served | NetplugError | FactsWanted {
  try {
    return serve(request, context, before);
  } catch (thrown) {
    if (thrown instanceof NetplugError || thrown instanceof FactsWanted) return thrown;
    throw thrown;
  }
}

function serve(request: AddressRequest, context: PlanContext, before: Draft): Served {
  const { owner } = request;
  const candidates = ownAllocations(context.facts, before, owner, owner.node);
  const addresses: AllocatedAddress[] = [];
  const pools: Pool[] = [];
  const kept: DraftBlock[] = [];
  let draft = before;
  const add = (existing: OwnAllocation | undefined, take: () => TakenAddress): void => {
    if (existing !== undefined) {
      addresses.push({ address: addressOf(existing), block: existing.from.block.cidr, isNew: false });
      kept.push(existing.from);
      return;
    }
    const taken = take();
    addresses.push({ address: taken.address, block: taken.block, isNew: true });
    pools.push(taken.pool);
    draft = taken.draft;
  };
  if (request.addresses.length > 0) {
    for (const address of request.addresses) {
      add(findAllocation(candidates, address), () => takeExplicit(request, address, context, draft));
    }
  } else {
    for (const family of request.families) {
      const existing = candidates.find((candidate) => candidate.from.block.cidr.family === family);
      add(existing, () => takeAutomatic(request, family, context, draft));
    }
  }
  return { addresses, draft, pools, kept };
}
