/** What a new attachment would be given now, and from which pools: the decision of an ADD, of which nothing is written. */

import type { AllocationOwner } from "../../api/ipam-block.ts";
import type { Query, Write } from "../../datastore/datastore.ts";
import { NetplugError } from "../../lib/errors.ts";
import { type Address, type Family, toAddressText } from "../../lib/ip/address.ts";
import { containsAddress, equalPrefixes, type Prefix } from "../../lib/ip/prefix.ts";
import { quote } from "../../lib/quote.ts";
import type { Labels } from "../../policy/selector/matches.ts";
import { IP_POOLS } from "../cluster.ts";
import { collectWanted, type Facts, FactsWanted, know, toFacts } from "../facts.ts";
import { type AllocatedAddress, type AllocationPlan, allocationQueries, planAllocation } from "../plan-allocation.ts";
import { type Pool, type PoolTable, toPoolTable, toPoolText } from "../pools.ts";
import type { AddressRequest } from "../request.ts";
import { type PoolCriteria, type PoolSelection, selectPools, whyNotUsed } from "../search/pool-selection.ts";
import { type Decision, transact, type TransactPorts, type Try } from "../transact/transact.ts";
import { afterDel } from "./after-del.ts";

/** What the attachment would ask for. */
export interface Question extends Omit<AddressRequest, "use"> {
  /** Says of whom that container takes the place: a runtime calls its DEL first. @default of nobody */
  readonly replaces?: (owner: AllocationOwner) => boolean;
}

/** Whose block an address would come from: the node's, one that it would claim, another's empty one, another's. */
export type BlockSource = "own" | "claimed" | "taken over" | "borrowed";

/** An address that it would be given. */
export interface PromisedAddress {
  readonly address: Address;
  readonly block: Prefix;
  readonly source: BlockSource;
  readonly pool: string;
}

/** A pool, and whether it would be used. */
export interface ExplainedPool {
  readonly name: string;
  /** undefined where the spec makes no sense. */
  readonly cidr?: Prefix;
  /** From 1: of what is equally good a pool gives only what those before it cannot. */
  readonly order?: number;
  /** Why the address is none of its; undefined also where one before it gives one. */
  readonly reason?: string;
}

/** The answer to a {@link Question}. */
export interface Explanation {
  readonly isNodeKnown: boolean;
  /** Whether a pool asks for labels of nodes. */
  readonly selectsNodes: boolean;
  readonly addresses: readonly PromisedAddress[];
  /** What an ADD would fail with. */
  readonly refusals: readonly NetplugError[];
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
  // One request for each family: that there is no address of the one does not hide what there is of the other.
  const asked = addresses.length > 0 ? [families] : families.map((family) => [family]);
  const requests = asked.map((some): AddressRequest => ({ ...question, use: "Workload", families: some }));
  const plan = planOrRefuse(requests, facts, attempt);
  const promise = ({ address, block }: AllocatedAddress): PromisedAddress => {
    return { address, block, source: sourceOf(block, plan.writes, owner.node), pool: poolAround(address, table) };
  };
  const given = plan.outcomes.flatMap((outcome) => ("addresses" in outcome ? outcome.addresses.map(promise) : []));
  const invalid = families.length === 0 ? [] : table.invalid.map(({ name, reason }): ExplainedPool => ({ name, reason }));
  const nodeLabels = node?.value.metadata.labels ?? {};
  const explainFamily = (family: Family): readonly ExplainedPool[] => {
    const pools = explainPools(table, family, question, nodeLabels);
    if (plan.isRefused) return pools;
    const giver = given.find(({ address }) => address.family === family);
    const whyNot = (pool: Pool): string | undefined => whyNotGiven(pool, giver, question, facts, attempt);
    return explainUnused(pools, table, giver, whyNot);
  };
  return {
    isNodeKnown: node !== undefined,
    selectsNodes: table.pools.some(({ spec: { nodeSelector } }) => nodeSelector !== "" && nodeSelector !== "all()"),
    addresses: given,
    refusals: plan.outcomes.flatMap((outcome) => ("error" in outcome ? [outcome.error] : [])),
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

/** Those that would be used, in their order, then the others. */
function explainPools(
  table: PoolTable,
  family: Family,
  { owner: { node }, pools, namespaceLabels }: Question,
  nodeLabels: Labels,
): readonly ExplainedPool[] {
  const criteria = { family, use: "Workload", node, nodeLabels, namespaceLabels } as const;
  const named = pools[family] ?? [];
  // One by one: that one of them cannot be used does not hide that the others are named.
  const selections =
    named.length === 0 ? [selectPools(table, criteria, [], undefined)] : named.map((one) => trySelect(table, criteria, one));
  const usable = [...new Set(selections.flatMap((selection) => selection.usable))];
  const reasons = new Map(selections.flatMap(({ refused }) => refused.map(({ name, reason }) => [name, reason])));
  const others = table.pools.filter((pool) => pool.cidr.family === family && !usable.includes(pool));
  const whyNot = (pool: Pool): string => reasons.get(pool.name) ?? pool.unusable ?? whyNotUsed(pool, criteria.use) ?? "it is not named";
  return [
    ...usable.map(({ name, cidr }, at) => ({ name, cidr, order: at + 1 })),
    ...others.map((pool) => ({ name: pool.name, cidr: pool.cidr, reason: whyNot(pool) })),
  ];
}

/**
 * Says of those that could be used, but come before the one that gives the address, why it is none of theirs.
 *
 * @throws {FactsWanted} what must be read first, for all of them at once: a round trip for each would take minutes where there are many
 */
function explainUnused(
  explained: readonly ExplainedPool[],
  { pools }: PoolTable,
  giver: PromisedAddress | undefined,
  whyNot: (pool: Pool) => string | undefined,
): readonly ExplainedPool[] {
  const end = explained.find(({ name }) => name === giver?.pool)?.order ?? Infinity;
  const wanted: Query[] = [];
  const answers = explained.map((one) => {
    const pool = one.order === undefined || one.order >= end ? undefined : pools.find(({ name }) => name === one.name);
    if (pool === undefined) return one;
    const answer = collectWanted(() => whyNot(pool));
    if ("wanted" in answer) wanted.push(...answer.wanted);
    return "wanted" in answer || answer.decided === undefined ? one : { ...one, reason: answer.decided };
  });
  if (wanted.length > 0) throw new FactsWanted(wanted);
  return answers;
}

const COMES_FIRST = {
  own: "the node's own block",
  claimed: "a new block",
  "taken over": "another node's empty block",
  borrowed: "another node's block",
} as const satisfies Record<BlockSource, string>;

/** What an ADD would say of it if it was the only pool; if that gave an address, what is better about another one's. */
function whyNotGiven(pool: Pool, giver: PromisedAddress | undefined, question: Question, facts: Facts, attempt: Try): string | undefined {
  const { family } = pool.cidr;
  const alone = { ...question, use: "Workload", families: [family], pools: { [family]: [pool.name] }, namedBy: {} } as const;
  const [outcome] = planAllocation([alone], withoutOthers(pool, facts), attempt).outcomes;
  if (outcome !== undefined && "error" in outcome) {
    const { message } = outcome.error;
    const before = `pool ${toPoolText(pool)}: `;
    return message.includes(before) ? message.slice(message.indexOf(before) + before.length) : message;
  }
  return giver && `${COMES_FIRST[giver.source]} of pool ${quote(giver.pool)} comes first`;
}

/** The facts as if there was no other pool: all of them would be read anew for each. */
function withoutOthers({ name }: Pool, facts: Facts): Facts {
  const stored = know(facts, IP_POOLS).filter(({ value }) => value.metadata.name === name);
  return toFacts([IP_POOLS], [stored], facts);
}

/** A named pool that cannot be used is among the refusals of the plan. */
function trySelect(table: PoolTable, criteria: PoolCriteria, named: string): PoolSelection {
  try {
    return selectPools(table, criteria, [named], undefined);
  } catch (thrown) {
    if (thrown instanceof NetplugError) return { usable: [], refused: [] };
    throw thrown;
  }
}
