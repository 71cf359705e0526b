/** What a new attachment would be given now, and from which pools: the decision of an ADD, of which nothing is written. */

import type { Write } from "../../datastore/datastore.ts";
import { NetplugError } from "../../lib/errors.ts";
import { type Address, type Family, toAddressText } from "../../lib/ip/address.ts";
import { containsAddress, equalPrefixes, type Prefix } from "../../lib/ip/prefix.ts";
import type { Labels } from "../../policy/selector/matches.ts";
import { IP_POOLS } from "../cluster.ts";
import { type Facts, know } from "../facts.ts";
import { type AllocatedAddress, allocationQueries, planAllocation } from "../plan-allocation.ts";
import { type Pool, type PoolTable, toPoolTable } from "../pools.ts";
import type { AddressRequest } from "../request.ts";
import { type PoolCriteria, type PoolSelection, selectPools, whyNotUsed } from "../search/pool-selection.ts";
import { type Decision, transact, type TransactPorts, type Try } from "../transact/transact.ts";

/** What the attachment would ask for. */
export type Question = Omit<AddressRequest, "use">;

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
  /** From 1: a pool gives only what those before it cannot. */
  readonly order?: number;
  /** Why it is not used. */
  readonly reason?: string;
}

/** The answer to a {@link Question}. */
export interface Explanation {
  readonly isNodeKnown: boolean;
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
 * @throws {NetplugError} notInitialised or tryAgainLater when nobody gets an address now, invalidConfig
 */
export async function explain(ports: TransactPorts, question: Question): Promise<Explanation> {
  const subject = { owner: question.owner, addresses: question.addresses };
  const decide = (facts: Facts, attempt: Try): Decision<Explanation> => ({ writes: [], result: explainOn(question, facts, attempt) });
  return await transact(ports, allocationQueries([subject]), decide);
}

function explainOn(question: Question, facts: Facts, attempt: Try): Explanation {
  const { owner, families, addresses } = question;
  const table = toPoolTable(know(facts, IP_POOLS));
  const node = know(facts, { type: "get", ref: { kind: "Node", name: owner.node } });
  // One request for each family: that there is no address of the one does not hide what there is of the other.
  const asked = addresses.length > 0 ? [families] : families.map((family) => [family]);
  const requests = asked.map((some): AddressRequest => ({ ...question, use: "Workload", families: some }));
  const { outcomes, writes, defects } = planAllocation(requests, facts, attempt);
  const promise = ({ address, block }: AllocatedAddress): PromisedAddress => {
    return { address, block, source: sourceOf(block, writes, owner.node), pool: poolAround(address, table) };
  };
  const invalid = families.length === 0 ? [] : table.invalid.map(({ name, reason }): ExplainedPool => ({ name, reason }));
  const nodeLabels = node?.value.metadata.labels ?? {};
  return {
    isNodeKnown: node !== undefined,
    addresses: outcomes.flatMap((outcome) => ("addresses" in outcome ? outcome.addresses.map(promise) : [])),
    refusals: outcomes.flatMap((outcome) => ("error" in outcome ? [outcome.error] : [])),
    pools: addresses.length > 0 ? [] : [...families.flatMap((family) => explainPools(table, family, question, nodeLabels)), ...invalid],
    defects: [...defects],
  };
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

/** A named pool that cannot be used is among the refusals of the plan. */
function trySelect(table: PoolTable, criteria: PoolCriteria, named: string): PoolSelection {
  try {
    return selectPools(table, criteria, [named], undefined);
  } catch (thrown) {
    if (thrown instanceof NetplugError) return { usable: [], refused: [] };
    throw thrown;
  }
}
