/** Immutable fields: those that keep their first value, by {@link KINDS}. */

import type { IPPoolSpec } from "../../api/ip-pool.ts";
import { type AnyResource, KINDS } from "../../api/registry.ts";
import type { Kind, Resource } from "../../api/resource.ts";
import { SCHEMAS } from "../../api/schema/kinds.ts";
import { type Problem, toPathText, ValidationError } from "../../api/schema/problem.ts";
import { toPrefixText, tryParsePrefix } from "../../lib/ip/prefix.ts";
import { quoteValue } from "../../lib/quote.ts";

/** What to do instead of the change. */
const INSTEAD: Partial<Record<Kind, string>> = { IPPool: "; make another pool, move the workloads, delete this one" };

/** @throws {ValidationError} a change of an immutable field */
export function requireUnchanged(current: Resource, wanted: AnyResource): void {
  const problems = changedImmutables(current, wanted);
  if (problems.length > 0) throw new ValidationError(`${wanted.kind} ${quoteValue(wanted.metadata.name)}`, problems);
}

/** Whether an invalid object may also change an immutable field. */
export function mayChangeImmutable({ resource, problems }: ValidationError): boolean {
  return resource !== undefined && problems.some((problem) => isAboutImmutable(resource.kind, problem));
}

/**
 * What is wrong with a change of `current`: changed immutable fields first, without other faults of their new values.
 *
 * @param error what is wrong with the changed object by itself
 */
export function putImmutableFirst(error: ValidationError, current: Resource): ValidationError {
  const { resource, object, problems } = error;
  const changes = resource === undefined ? [] : changedImmutables(current, resource);
  if (resource === undefined || changes.length === 0) return error;
  const others = problems.filter((problem) => !isAboutImmutable(resource.kind, problem));
  return new ValidationError(object, [...changes, ...others], resource);
}

/** Compares in complete and canonical form: the stored object may have been written without netplugctl. */
function changedImmutables(current: Resource, wanted: Resource): readonly Problem[] {
  if (KINDS[wanted.kind].immutable.length === 0) return [];
  const before = completeSpecOf(wanted.kind, current);
  const after = completeSpecOf(wanted.kind, wanted);
  const problems = KINDS[wanted.kind].immutable
    .filter((field) => before[field] !== undefined && toCanonical(before[field]) !== toCanonical(after[field]))
    .map((field) => ({
      path: toPath(field),
      message: `got ${quoteValue(after[field] ?? null)}, want ${quoteValue(before[field])}: it cannot be changed${INSTEAD[wanted.kind] ?? ""}`,
    }));
  return wanted.kind === "IPPool" ? [...problems, ...changedUses(before, after)] : problems;
}

/** The spec with its defaults, or unchanged: one that was not validated may lack fields that defaults depend on. */
function completeSpecOf(kind: Kind, { spec }: Resource): Readonly<Record<string, unknown>> {
  if (kind === "IPPool" && typeof (spec as Partial<IPPoolSpec>).cidr !== "string") return spec as Partial<IPPoolSpec>;
  return SCHEMAS[kind].complete(spec as never) as Readonly<Record<string, unknown>>;
}

function isAboutImmutable(kind: Kind, { path }: Problem): boolean {
  return KINDS[kind].immutable.some((field) => toPath(field) === path);
}

function toPath(field: string): string {
  return toPathText(["spec", field]);
}

/** Addresses of a pool for load balancers are announced in another way than those of pods. */
function changedUses(before: Partial<IPPoolSpec>, { allowedUses: after = [] }: Partial<IPPoolSpec>): readonly Problem[] {
  if (before.allowedUses?.includes("LoadBalancer") !== true || !Array.isArray(after) || after.includes("LoadBalancer")) return [];
  return [
    {
      path: "spec.allowedUses",
      message: `got ${after.map((use) => quoteValue(use)).join(", ")}, want "LoadBalancer": such a pool cannot get another use`,
    },
  ];
}

function toCanonical(value: unknown): unknown {
  const prefix = typeof value === "string" ? tryParsePrefix(value) : undefined;
  return prefix === undefined ? value : toPrefixText(prefix);
}
