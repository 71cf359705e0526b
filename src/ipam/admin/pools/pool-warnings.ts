/** Pools that give no address to anybody although nobody has disabled them: netplugctl refuses such pools, kubectl and etcdctl do not. */

import type { Resource } from "../../../api/resource.ts";
import type { Stored } from "../../../datastore/datastore.ts";
import { tryParseSelector } from "../../../policy/selector/parse.ts";
import { SelectorError } from "../../../policy/selector/scanner.ts";
import { type Pool, type RefusedPool, toPoolTable } from "../../pools.ts";
import { badSelector } from "../../search/pool-selection.ts";

/** What somebody should look at: nothing contradicts itself yet. */
export interface PoolWarning {
  readonly kind: "IPPool";
  /** The pool's name. */
  readonly object: string;
  readonly detail: string;
}

/** First pools that overlap one with precedence, then those whose spec makes no sense, and those whose selectors do not, each by name. */
export function poolWarnings(stored: readonly Stored<Resource>[]): readonly PoolWarning[] {
  const { pools, invalid } = toPoolTable(stored);
  const shadowed = pools.flatMap(({ name, spec, unusable }) => {
    if (spec.disabled || unusable === undefined) return [];
    return [{ name, reason: `${unusable}: only that one is used, even while it is disabled; delete one of the two` }];
  });
  const unselected = pools.filter(({ unusable }) => unusable === undefined).flatMap(badSelectorsOf);
  return [...shadowed, ...invalid, ...unselected].map(({ name, reason }) => ({ kind: "IPPool", object: name, detail: reason }));
}

/** A pool that must be named gives addresses nevertheless. */
function badSelectorsOf({ name, spec }: Pool): readonly RefusedPool[] {
  if (spec.assignmentMode === "Manual") return [];
  return (["nodeSelector", "namespaceSelector", "podSelector"] as const).flatMap((field) => {
    const text = spec[field] ?? "";
    const selector = tryParseSelector(text);
    return selector instanceof SelectorError ? [{ name, ...badSelector(name, field, text, selector) }] : [];
  });
}
