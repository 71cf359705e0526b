/** Which pools a request may use, and for each other pool why not. */

import { BLOCK_SIZE_LIMITS, type CompleteIPPoolSpec, type IPPoolSpec, withPoolDefaults } from "../api/ip-pool.ts";
import type { Resource } from "../api/resource.ts";
import type { Query, Revision, Stored } from "../datastore/datastore.ts";
import { compareTexts } from "../lib/characters.ts";
import { NetplugError } from "../lib/errors.ts";
import type { Family } from "../lib/ip/address.ts";
import { comparePrefixes, equalPrefixes, overlaps, type Prefix, toPrefixText, tryParsePrefix } from "../lib/ip/prefix.ts";
import { quote } from "../lib/quote.ts";
import { type Labels, matches } from "../policy/selector/matches.ts";
import { tryParseSelector } from "../policy/selector/parse.ts";
import { SelectorError } from "../policy/selector/scanner.ts";
import type { Use } from "./request.ts";

/** A pool whose spec makes sense. */
export interface Pool {
  readonly name: string;
  readonly cidr: Prefix;
  /** Prefix length of its blocks. */
  readonly blockLength: number;
  readonly spec: CompleteIPPoolSpec;
  readonly revision: Revision;
  /** Why nobody may use it: disabled, or a pool that is older, or as old and first by name, has the same addresses. */
  readonly unusable: string | undefined;
}

/** A pool that a request does not get addresses from. */
export interface RefusedPool {
  readonly name: string;
  /** Continues the sentence "pool "blue": …". */
  readonly reason: string;
  /** Whether somebody has to correct it: the reason then says how. */
  readonly isDefect?: boolean;
}

/** All pools of the cluster. */
export interface PoolTable {
  /** By name. */
  readonly pools: readonly Pool[];
  /** Objects whose spec makes no sense: somebody wrote them past the validation. */
  readonly invalid: readonly (RefusedPool & Pick<Pool, "revision">)[];
}

/** The request that pools are selected for. */
export interface PoolCriteria {
  readonly family: Family;
  readonly use: Use;
  readonly node: string;
  readonly nodeLabels: Labels;
  readonly namespaceLabels: Labels;
}

/** What {@link selectPools} found. */
export interface PoolSelection {
  /** In the order of their use. */
  readonly usable: readonly Pool[];
  /** Of the same family. */
  readonly refused: readonly RefusedPool[];
}

/**
 * Reads one pool before a block is claimed in it. The list may be older than a pool of that name with another block size; then a claim of the
 * old size could overlap another one without a conflict. If this answer is newer than the list, the commit fails: it expects the listed pool.
 */
export function poolQueryOf({ name }: Pool): Query {
  return { type: "get", ref: { kind: "IPPool", name } };
}

/** A pool whose spec makes sense. */
interface ValidPool {
  readonly pool: Omit<Pool, "unusable">;
  readonly createdAt: number;
}

/** Reads the pools. Of overlapping ones only the oldest, then the first by name, can be used. */
export function toPoolTable(stored: readonly Stored<Resource>[]): PoolTable {
  const byName = [...stored].sort((a, b) => compareTexts(a.value.metadata.name, b.value.metadata.name));
  const invalid: PoolTable["invalid"][number][] = [];
  const valid: ValidPool[] = [];
  for (const { value, revision, isUnreadable = false } of byName) {
    const { name, creationTimestamp } = value.metadata;
    const read = isUnreadable ? { what: "what is stored in its place is no pool", isImmutable: true } : readSpec(value.spec);
    if ("what" in read) invalid.push({ name, revision, ...defect(name, read) });
    else valid.push({ pool: { name, revision, ...read }, createdAt: Date.parse(creationTimestamp ?? "") || 0 });
  }
  const overlapOf = findOverlaps(valid);
  const pools = valid.map(({ pool }) => ({ ...pool, unusable: pool.spec.disabled ? "it is disabled" : overlapOf.get(pool.name) }));
  return { pools, invalid };
}

/** By name: why a pool gives nothing that overlaps an older one, or one that is as old and first by name. */
function findOverlaps(valid: readonly ValidPool[]): ReadonlyMap<string, string> {
  const reasons = new Map<string, string>();
  if (!haveOverlap(valid.map(({ pool }) => pool.cidr))) return reasons;
  const winners: ValidPool[] = [];
  for (const one of valid.toSorted((a, b) => a.createdAt - b.createdAt)) {
    const winner = winners.find(({ pool }) => overlaps(pool.cidr, one.pool.cidr));
    if (winner === undefined) winners.push(one);
    else reasons.set(one.pool.name, whyShadowed(winner, winner.createdAt < one.createdAt));
  }
  return reasons;
}

function whyShadowed({ pool: { name, cidr } }: ValidPool, isOlder: boolean): string {
  const winner = `pool ${quote(name)} (${toPrefixText(cidr)})`;
  return isOlder ? `it overlaps the older ${winner}` : `it overlaps ${winner}, as old and first by name`;
}

/** Cheaper than comparing every pair. */
function haveOverlap(cidrs: readonly Prefix[]): boolean {
  const sorted = cidrs.toSorted(comparePrefixes);
  return sorted.some((cidr, i) => {
    const before = sorted[i - 1];
    return before !== undefined && overlaps(before, cidr);
  });
}

/**
 * The pools that were named, whatever their selectors and assignment mode; without names the automatic ones that select the
 * node and the namespace, by name.
 *
 * @param named names or CIDRs
 * @param namedBy where they are named, for messages
 * @throws {NetplugError} poolUnusable when a named one does not exist, is of the other family, or may not be used
 */
export function selectPools(table: PoolTable, criteria: PoolCriteria, named?: readonly string[], namedBy?: string): PoolSelection {
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

type Refusal = Omit<RefusedPool, "name">;

function whyNotSelected(pool: Pool, { node, nodeLabels, namespaceLabels }: PoolCriteria): Refusal | undefined {
  const { assignmentMode, nodeSelector, namespaceSelector } = pool.spec;
  if (assignmentMode === "Manual") return { reason: "its assignmentMode is Manual: it must be named" };
  return (
    whyNoMatch(pool, "nodeSelector", nodeSelector, nodeLabels, `node ${quote(node)}`) ??
    whyNoMatch(pool, "namespaceSelector", namespaceSelector, namespaceLabels, "the namespace's labels")
  );
}

function whyNoMatch({ name }: Pool, field: string, text: string, labels: Labels, object: string): Refusal | undefined {
  if (text === "" || text === "all()") return undefined; // nearly every pool: spares the parser's start
  const selector = tryParseSelector(text);
  if (selector instanceof SelectorError) return defect(name, { what: `its ${field} ${quote(text)} is no selector: ${selector.detail}` });
  return matches(selector, labels) ? undefined : { reason: `its ${field} ${quote(text)} does not match ${object}` };
}

/** What makes no sense in a pool's spec. */
interface SpecFault {
  readonly what: string;
  /** Whether it is in an immutable field. */
  readonly isImmutable?: boolean;
}

function defect(name: string, { what, isImmutable = false }: SpecFault): Refusal {
  const remedy = isImmutable ? `make another pool, and ${quote(`netplugctl delete ippool ${name}`)}` : toRepair("ippool", name);
  return { reason: `${what}; ${remedy}`, isDefect: true };
}

/** What to do about an object that was written past the validation. */
export function toRepair(kind: string, name: string): string {
  return `correct it by ${quote(`netplugctl patch ${kind} ${name}`)}`;
}

function findNamed(table: PoolTable, criteria: PoolCriteria, wanted: string, namedBy: string | undefined): Pool {
  const origin = namedBy === undefined ? "" : `; ${namedBy} names it`;
  const fail = (reason: string): NetplugError => new NetplugError("poolUnusable", `use pool ${quote(wanted)}: ${reason}${origin}`);
  const prefix = tryParsePrefix(wanted);
  const candidates = table.pools.filter((pool) => pool.name === wanted || (prefix !== undefined && equalPrefixes(pool.cidr, prefix)));
  const [pool] = candidates.toSorted((a, b) => Number(a.unusable !== undefined) - Number(b.unusable !== undefined));
  if (pool === undefined) {
    const defect = table.invalid.find(({ name }) => name === wanted);
    if (defect !== undefined) throw fail(defect.reason);
    const known = table.pools
      .filter(({ cidr }) => cidr.family === criteria.family)
      .map(({ name, cidr }) => `${quote(name)} (${toPrefixText(cidr)})`);
    throw fail(`no pool has this name or exactly this CIDR; IPv${criteria.family} pools are ${known.join(", ") || "none"}`);
  }
  const { family } = pool.cidr;
  if (family !== criteria.family) throw fail(`it is an IPv${family} pool, listed for IPv${criteria.family}`);
  const reason = pool.unusable ?? whyNotUsed(pool, criteria.use);
  if (reason !== undefined) throw fail(reason);
  return pool;
}

/** @returns the fault of a spec that makes no sense */
function readSpec(given: unknown): Pick<Pool, "cidr" | "blockLength" | "spec"> | SpecFault {
  const spec = given as Partial<IPPoolSpec> | null | undefined;
  if (typeof spec?.cidr !== "string") return { what: "it has no CIDR" };
  const cidr = tryParsePrefix(spec.cidr);
  if (cidr === undefined) return { what: `its CIDR ${quote(spec.cidr)} is invalid`, isImmutable: true };
  const complete = withPoolDefaults({ ...spec, cidr: spec.cidr });
  const blockLength = complete.blockSize;
  const { min, max } = BLOCK_SIZE_LIMITS[cidr.family];
  if (!Number.isInteger(blockLength) || blockLength < Math.max(min, cidr.length) || blockLength > max) {
    const what = `its blockSize ${blockLength} does not fit ${toPrefixText(cidr)}: want ${Math.max(min, cidr.length)}..${max}`;
    return { what, isImmutable: true };
  }
  if (!Array.isArray(complete.allowedUses)) return { what: "its allowedUses is no list" };
  if (typeof complete.nodeSelector !== "string" || typeof complete.namespaceSelector !== "string")
    return { what: "its selectors are no texts" };
  return { cidr, blockLength, spec: complete };
}
