/** What a new attachment would be given now: the decision of an ADD, of which nothing is written. */

import type { AllocationOwner } from "../../../api/ipam-block.ts";
import type { Write } from "../../../datastore/datastore.ts";
import { NetplugError } from "../../../lib/errors.ts";
import { type Address, type Family, toAddressText } from "../../../lib/ip/address.ts";
import { containsAddress, equalPrefixes, ordinalOf, type Prefix } from "../../../lib/ip/prefix.ts";
import { IP_POOLS } from "../../cluster.ts";
import { blockOfAddress, NO_DRAFT } from "../../draft.ts";
import { type Facts, know } from "../../facts.ts";
import { type AllocatedAddress, type AllocationPlan, allocationQueries, planAllocation } from "../../plan-allocation.ts";
import { type PoolTable, toPoolTable } from "../../pools.ts";
import type { AddressRequest } from "../../request.ts";
import { type Decision, transact, type TransactPorts, type Try } from "../../transact/transact.ts";
import { afterDel } from "./after-del.ts";
import { type ExplainedPool, explainPools } from "./explain-pools.ts";

/** What the attachment would ask for. */
export interface Question extends Omit<AddressRequest, "use"> {
  /** Says of whom that container takes the place: a runtime calls its DEL first. @default of nobody */
  readonly replaces?: (owner: AllocationOwner) => boolean;
}

/** Whose block an address would come from: the node's, one that it would claim, another's empty one, another's. */
export type BlockSource = "own" | "claimed" | "taken over" | "borrowed";

const SOURCE_TEXT = {
  own: "the node's own block",
  claimed: "a new block",
  "taken over": "another node's empty block",
  borrowed: "another node's block",
} as const satisfies Record<BlockSource, string>;

/** An address that it would be given. */
export interface PromisedAddress {
  readonly address: Address;
  readonly block: Prefix;
  readonly source: BlockSource;
  readonly pool: string;
}

/** The answer to a {@link Question}. */
export interface Explanation {
  readonly isNodeKnown: boolean;
  /** Whether a pool asks for labels of nodes. */
  readonly selectsNodes: boolean;
  /** Whether a pool asks for labels of pods. */
  readonly selectsPods: boolean;
  readonly addresses: readonly PromisedAddress[];
  /** What an ADD would fail with. */
  readonly refusals: readonly NetplugError[];
  /** Who has an address that is asked for, where it is refused for that. */
  readonly holders: readonly AllocationOwner[];
  /** Those of the families that are asked for; none for addresses that are asked for by themselves. */
  readonly pools: readonly ExplainedPool[];
  /** What counts for nothing, because it makes no sense. */
  readonly defects: readonly string[];
}

/**
 * Decides, and writes nothing.
 *
 * @throws {NetplugError} when the datastore cannot be read: what an ADD is refused for is a part of the answer
 */
export async function explain(ports: TransactPorts, { replaces, ...question }: Question): Promise<Explanation> {
  const subject = { owner: question.owner, addresses: question.addresses };
  const decide = (facts: Facts, attempt: Try): Decision<Explanation> => {
    const then = replaces === undefined ? facts : afterDel({ node: question.owner.node, isOwner: replaces }, facts, attempt);
    return { writes: [], result: explainOn(question, then, attempt) };
  };
  return await transact(ports, allocationQueries([subject]), decide);
}

function explainOn(question: Question, facts: Facts, attempt: Try): Explanation {
  const { owner, families, addresses } = question;
  const table = toPoolTable(know(facts, IP_POOLS));
  const node = know(facts, { type: "get", ref: { kind: "Node", name: owner.node } });
  const request: AddressRequest = { ...question, use: "Workload" };
  // One request for each family: that there is no address of the one does not hide what there is of the other.
  const apart = addresses.length > 0 ? [families] : families.map((family) => [family]);
  const requests = apart.map((some) => ({ ...request, families: some }));
  const plan = planOrRefuse(requests, facts, attempt);
  const promise = ({ address, block }: AllocatedAddress): PromisedAddress => {
    return { address, block, source: sourceOf(block, plan.writes, owner.node), pool: poolAround(address, table) };
  };
  const given = plan.outcomes.flatMap((outcome) => ("addresses" in outcome ? outcome.addresses.map(promise) : []));
  const asking = { request, table, nodeLabels: node?.value.metadata.labels ?? {}, facts, attempt, isRefused: plan.isRefused };
  const explainFamily = (family: Family): readonly ExplainedPool[] => {
    const giver = given.find(({ address }) => address.family === family);
    return explainPools(asking, family, giver && { pool: giver.pool, what: SOURCE_TEXT[giver.source] });
  };
  const refusals = plan.outcomes.flatMap((outcome) => ("error" in outcome ? [outcome.error] : []));
  const isInUse = refusals.some(({ kind }) => kind === "addressInUse");
  const invalid = families.length === 0 ? [] : table.invalid.map(({ name, reason }): ExplainedPool => ({ name, reason }));
  return {
    isNodeKnown: node !== undefined,
    selectsNodes: table.pools.some(({ spec: { nodeSelector } }) => nodeSelector !== "" && nodeSelector !== "all()"),
    selectsPods: table.pools.some(({ spec: { podSelector = "" } }) => podSelector !== "" && podSelector !== "all()"),
    addresses: given,
    refusals,
    holders: isInUse ? addresses.flatMap((address) => holdersOf(address, facts, owner.node)) : [],
    pools: addresses.length > 0 ? [] : [...families.flatMap(explainFamily), ...invalid],
    defects: [...plan.defects],
  };
}

/** While the datastore is locked, for instance, nobody is given anything, whatever the pools have. */
function planOrRefuse(
  requests: readonly AddressRequest[],
  facts: Facts,
  attempt: Try,
): Pick<AllocationPlan, "outcomes" | "writes" | "defects"> & { readonly isRefused: boolean } {
  try {
    return { ...planAllocation(requests, facts, attempt), isRefused: false };
  } catch (thrown) {
    if (!(thrown instanceof NetplugError)) throw thrown;
    return { outcomes: [{ error: thrown }], writes: [], defects: [], isRefused: true };
  }
}

/** One, or none where it is free. */
function holdersOf(address: Address, facts: Facts, node: string): readonly AllocationOwner[] {
  const block = blockOfAddress(facts, NO_DRAFT, address, node)?.block;
  if (block === undefined) return [];
  return block.allocations.filter(({ ordinal }) => ordinal === ordinalOf(block.cidr, address)).map((allocation) => allocation.owner);
}

/** There is one around each address that is given. */
function poolAround(address: Address, { pools }: PoolTable): string {
  const pool = pools.find(({ cidr, unusable }) => unusable === undefined && containsAddress(cidr, address));
  if (pool === undefined) throw new NetplugError("internal", `explain ${toAddressText(address)}: it was given of no pool`);
  return pool.name;
}

function sourceOf(block: Prefix, writes: readonly Write[], node: string): BlockSource {
  for (const write of writes) {
    if (!("block" in write) || !equalPrefixes(write.block.cidr, block)) continue;
    if (write.op === "create-block") return "claimed";
    if (write.block.node !== node) return "borrowed";
    return write.previous.value.node === node ? "own" : "taken over";
  }
  return "own";
}
