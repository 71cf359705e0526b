/** Which pools a request may use, and for each other pool why not. */

import { NetplugError } from "../../lib/errors.ts";
import type { Family } from "../../lib/ip/address.ts";
import { equalPrefixes, tryParsePrefix } from "../../lib/ip/prefix.ts";
import { quote } from "../../lib/quote.ts";
import { type Labels, matches } from "../../policy/selector/matches.ts";
import { tryParseSelector } from "../../policy/selector/parse.ts";
import { SelectorError } from "../../policy/selector/scanner.ts";
import { toOriginText } from "../owner-text.ts";
import { defect, type Pool, type PoolTable, type RefusedPool, type Refusal, toPoolText } from "../pools.ts";
import type { Use } from "../request.ts";

/** The request that pools are selected for. */
export interface PoolCriteria {
  readonly family: Family;
  readonly use: Use;
  readonly node: string;
  readonly nodeLabels: Labels;
  readonly namespaceLabels: Labels;
  readonly podLabels: Labels;
}

/** What {@link selectPools} found. */
export interface PoolSelection {
  /** In the order of their use. */
  readonly usable: readonly Pool[];
  /** Those of the family, and all whose spec makes no sense. */
  readonly refused: readonly RefusedPool[];
}

/**
 * The pools that were named, whatever their selectors and assignment mode; without names the automatic ones that select the
 * node, the namespace and the pod, by name.
 *
 * @param named names or CIDRs
 * @param namedBy where they are named, for messages
 * @throws {NetplugError} poolUnusable when a named one does not exist, is of the other family, or may not be used
 */
export function selectPools(
  table: PoolTable,
  criteria: PoolCriteria,
  named: readonly string[] | undefined,
  namedBy: string | undefined,
): PoolSelection {
  if (named !== undefined && named.length > 0) {
    const usable = new Set(named.map((wanted) => findNamed(table, criteria, wanted, namedBy)));
    return { usable: [...usable], refused: [] };
  }
  const usable: Pool[] = [];
  const refused: RefusedPool[] = [...table.invalid];
  for (const pool of table.pools) {
    if (pool.cidr.family !== criteria.family) continue;
    const reason = pool.unusable ?? whyNotUsed(pool, criteria.use);
    const refusal = reason === undefined ? whyNotSelected(pool, criteria) : { reason };
    if (refusal === undefined) usable.push(pool);
    else refused.push({ name: pool.name, ...refusal });
  }
  return { usable, refused };
}

/** Why a pool gives nothing for a use. */
export function whyNotUsed(pool: Pool, use: Use): string | undefined {
  return pool.spec.allowedUses.includes(use) ? undefined : `it allows ${pool.spec.allowedUses.join(" and ")}, not ${use}`;
}

function whyNotSelected(pool: Pool, { node, nodeLabels, namespaceLabels, podLabels }: PoolCriteria): Refusal | undefined {
  const { assignmentMode, nodeSelector, namespaceSelector, podSelector = "" } = pool.spec;
  if (assignmentMode === "Manual") return { reason: "its assignmentMode is Manual: it must be named" };
  return (
    whyNoMatch(pool, "nodeSelector", nodeSelector, nodeLabels, `node ${quote(node)}`) ??
    whyNoMatch(pool, "namespaceSelector", namespaceSelector, namespaceLabels, "the namespace's labels") ??
    whyNoMatch(pool, "podSelector", podSelector, podLabels, "the pod's labels")
  );
}

function whyNoMatch({ name }: Pool, field: string, text: string, labels: Labels, object: string): Refusal | undefined {
  if (text === "" || text === "all()") return undefined; // nearly every pool: spares the parser's start
  const selector = tryParseSelector(text);
  if (selector instanceof SelectorError) return badSelector(name, field, text, selector);
  // A person may see labels at a pod that was not read.
  const unread = field === "nodeSelector" || Object.keys(labels).length > 0 ? "" : " (none are known)";
  return matches(selector, labels) ? undefined : { reason: `its ${field} ${quote(text)} does not match ${object}${unread}` };
}

/** Why a pool is selected for nothing. */
export function badSelector(name: string, field: string, text: string, { detail }: SelectorError): Refusal {
  return defect(name, { what: `its ${field} ${quote(text)} is no selector: ${detail}` });
}

function findNamed(table: PoolTable, criteria: PoolCriteria, wanted: string, namedBy: string | undefined): Pool {
  const origin = toOriginText(namedBy, "it");
  const fail = (reason: string): NetplugError => new NetplugError("poolUnusable", `use pool ${quote(wanted)}: ${reason}${origin}`);
  const prefix = tryParsePrefix(wanted);
  const candidates = table.pools.filter((pool) => pool.name === wanted || (prefix !== undefined && equalPrefixes(pool.cidr, prefix)));
  const [pool] = candidates.toSorted((a, b) => Number(a.unusable !== undefined) - Number(b.unusable !== undefined));
  if (pool === undefined) {
    const invalid = table.invalid.find(({ name }) => name === wanted);
    if (invalid !== undefined) throw fail(invalid.reason);
    const known = table.pools.filter(({ cidr }) => cidr.family === criteria.family).map(toPoolText);
    throw fail(`no pool has this name or exactly this CIDR; IPv${criteria.family} pools are ${known.join(", ") || "none"}`);
  }
  const { family } = pool.cidr;
  if (family !== criteria.family) throw fail(`it is an IPv${family} pool, listed for IPv${criteria.family}`);
  const reason = pool.unusable ?? whyNotUsed(pool, criteria.use);
  if (reason !== undefined) throw fail(reason);
  return pool;
}
