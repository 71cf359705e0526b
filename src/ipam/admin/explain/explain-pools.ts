/** Which pools a new attachment may use, in which order, and why the others give it nothing. */

import type { Query } from "../../../datastore/datastore.ts";
import { NetplugError } from "../../../lib/errors.ts";
import type { Family } from "../../../lib/ip/address.ts";
import type { Prefix } from "../../../lib/ip/prefix.ts";
import { quote } from "../../../lib/quote.ts";
import type { Labels } from "../../../policy/selector/matches.ts";
import { IP_POOLS } from "../../cluster.ts";
import { collectWanted, type Facts, FactsWanted, know, toFacts } from "../../facts.ts";
import { planAllocation } from "../../plan-allocation.ts";
import { type Pool, type PoolTable, toPoolText } from "../../pools.ts";
import type { AddressRequest } from "../../request.ts";
import { type PoolCriteria, type PoolSelection, selectPools, whyNotUsed } from "../../search/pool-selection.ts";
import type { Try } from "../../transact/transact.ts";

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

/** Who asks, and what is known of it. */
export interface Asking {
  readonly request: AddressRequest;
  readonly table: PoolTable;
  readonly nodeLabels: Labels;
  readonly facts: Facts;
  readonly attempt: Try;
  /** Whether nobody is given anything, whatever the pools have. */
  readonly isRefused: boolean;
}

/** The pool that gives the address, and of which of its blocks. */
export interface Giver {
  readonly pool: string;
  readonly what: string;
}

/**
 * Those of a family that would be used, in their order, then the others. Says of those before the giver, too, why the address is none of theirs.
 *
 * @param giver undefined where no pool gives one
 * @throws {FactsWanted} what must be read first, for all of them at once: a round trip for each would take minutes where there are many
 */
export function explainPools(asking: Asking, family: Family, giver: Giver | undefined): readonly ExplainedPool[] {
  const { usable, others } = choosePools(asking, family);
  const end = usable.findIndex(({ name }) => name === giver?.pool);
  const isBefore = (at: number): boolean => !asking.isRefused && (end === -1 || at < end);
  const wanted: Query[] = [];
  const explained = usable.map((pool, at): ExplainedPool => {
    const { name, cidr } = pool;
    const answer = isBefore(at) ? collectWanted(() => whyNotGiven(asking, pool, giver)) : { decided: undefined };
    if ("wanted" in answer) wanted.push(...answer.wanted);
    const reason = "wanted" in answer ? undefined : answer.decided;
    return { name, cidr, order: at + 1, ...(reason !== undefined && { reason }) };
  });
  if (wanted.length > 0) throw new FactsWanted(wanted);
  return [...explained, ...others];
}

/** The pools of a family that would be used, in their order, and the others with their reasons. */
function choosePools(
  { request: { owner, use, pools, namespaceLabels, podLabels }, table, nodeLabels }: Asking,
  family: Family,
): { readonly usable: readonly Pool[]; readonly others: readonly ExplainedPool[] } {
  const criteria = { family, use, node: owner.node, nodeLabels, namespaceLabels, podLabels };
  const named = pools[family] ?? [];
  // One by one: that one of them cannot be used does not hide that the others are named.
  const selections =
    named.length === 0 ? [selectPools(table, criteria, [], undefined)] : named.map((one) => trySelect(table, criteria, one));
  const usable = [...new Set(selections.flatMap((selection) => selection.usable))];
  const reasons = new Map(selections.flatMap(({ refused }) => refused.map(({ name, reason }) => [name, reason])));
  const others = table.pools.filter((pool) => pool.cidr.family === family && !usable.includes(pool));
  const whyNot = (pool: Pool): string => reasons.get(pool.name) ?? pool.unusable ?? whyNotUsed(pool, use) ?? "it is not named";
  return { usable, others: others.map((pool) => ({ name: pool.name, cidr: pool.cidr, reason: whyNot(pool) })) };
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

/** What an ADD would say of it if it was the only pool; if that gave an address, what is better about another one's. */
function whyNotGiven({ request, facts, attempt }: Asking, pool: Pool, giver: Giver | undefined): string | undefined {
  const { family } = pool.cidr;
  const alone = { ...request, families: [family], pools: { [family]: [pool.name] }, namedBy: {} };
  const [outcome] = planAllocation([alone], withoutOthers(pool, facts), attempt).outcomes;
  if (outcome !== undefined && "error" in outcome) {
    const { message } = outcome.error;
    const before = `pool ${toPoolText(pool)}: `;
    return message.includes(before) ? message.slice(message.indexOf(before) + before.length) : message;
  }
  return giver && `${giver.what} of pool ${quote(giver.pool)} comes first`;
}

/** The facts as if there was no other pool: all of them would be read anew for each. */
function withoutOthers({ name }: Pool, facts: Facts): Facts {
  const stored = know(facts, IP_POOLS).filter(({ value }) => value.metadata.name === name);
  return toFacts([IP_POOLS], [stored], facts);
}
