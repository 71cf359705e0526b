/** The pools of the cluster, as far as their specs make sense, and which of them nobody may use. */

import { BLOCK_SIZE_LIMITS, type CompleteIPPoolSpec, type IPPoolSpec, withPoolDefaults } from "../api/ip-pool.ts";
import type { Resource } from "../api/resource.ts";
import type { Query, Revision, Stored } from "../datastore/datastore.ts";
import { compareTexts } from "../lib/characters.ts";
import { comparePrefixes, overlaps, type Prefix, toPrefixText, tryParsePrefix } from "../lib/ip/prefix.ts";
import { isText } from "../lib/json.ts";
import { quote } from "../lib/quote.ts";

/** A pool whose spec makes sense. */
export interface Pool {
  readonly name: string;
  readonly cidr: Prefix;
  /** Prefix length of its blocks. */
  readonly blockLength: number;
  readonly spec: CompleteIPPoolSpec;
  readonly revision: Revision;
  /** Why nobody may use it: it is disabled, or its addresses belong to an older pool, or to one that is as old and first by name. */
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

/** Why a request gets no addresses from a pool. */
export type Refusal = Omit<RefusedPool, "name">;

/** All pools of the cluster. */
export interface PoolTable {
  /** By name. */
  readonly pools: readonly Pool[];
  /** Objects whose spec makes no sense: somebody wrote them past the validation. */
  readonly invalid: readonly (RefusedPool & Pick<Pool, "revision">)[];
}

/**
 * Reads one pool before a block is claimed in it. The list may be older than a pool of that name with another block size; then a claim of the
 * old size could overlap another one without a conflict. If this answer is newer than the list, the commit fails: it expects the listed pool.
 */
export function poolQueryOf({ name }: Pool): Query {
  return { type: "get", ref: { kind: "IPPool", name } };
}

/** A pool before it is known whether another takes precedence. */
interface ValidPool {
  readonly pool: Omit<Pool, "unusable">;
  readonly createdAt: number;
}

/** Reads the pools. Among overlapping ones only the oldest, or of equal age the first by name, can be used. */
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

/** By name: why a pool gives nothing, because it overlaps an older one, or one that is as old and first by name. */
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

function whyShadowed({ pool }: ValidPool, isOlder: boolean): string {
  const winner = `pool ${toPoolText(pool)}`;
  return isOlder ? `it overlaps the older ${winner}` : `it overlaps ${winner}, as old and first by name`;
}

/** `"blue" (10.65.0.0/16)`. */
export function toPoolText({ name, cidr }: Pick<Pool, "name" | "cidr">): string {
  return `${quote(name)} (${toPrefixText(cidr)})`;
}

/** Cheaper than comparing every pair. */
function haveOverlap(cidrs: readonly Prefix[]): boolean {
  const sorted = cidrs.toSorted(comparePrefixes);
  return sorted.some((cidr, i) => {
    const before = sorted[i - 1];
    return before !== undefined && overlaps(before, cidr);
  });
}

/** What makes no sense in a pool's spec. */
interface SpecFault {
  readonly what: string;
  /** Whether it is in an immutable field. */
  readonly isImmutable?: boolean;
}

/** What is said of a pool that somebody has to correct. */
export function defect(name: string, { what, isImmutable = false }: SpecFault): Refusal {
  const remedy = isImmutable ? `make another pool, and ${quote(`netplugctl delete ippool ${name}`)}` : toRepair("ippool", name);
  return { reason: `${what}; ${remedy}`, isDefect: true };
}

/** What to do about an object that was written past the validation. */
export function toRepair(kind: string, name: string): string {
  return `correct it by ${quote(`netplugctl patch ${kind} ${name}`)}`;
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
  const { nodeSelector, namespaceSelector, podSelector = "" } = complete;
  if (![nodeSelector, namespaceSelector, podSelector].every(isText)) return { what: "its selectors are no texts" };
  return { cidr, blockLength, spec: complete };
}
