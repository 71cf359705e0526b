/** Pools that give no address to anybody although nobody has disabled them: netplugctl refuses such pools, kubectl and etcdctl do not. */

import type { Resource } from "../../api/resource.ts";
import type { Stored } from "../../datastore/datastore.ts";
import { toPoolTable } from "../pools.ts";

/** What somebody should look at: nothing contradicts itself yet. */
export interface PoolWarning {
  readonly kind: "IPPool";
  /** The pool's name. */
  readonly object: string;
  readonly detail: string;
}

/** First pools that overlap one with precedence, then those whose spec makes no sense, each by name. */
export function poolWarnings(stored: readonly Stored<Resource>[]): readonly PoolWarning[] {
  const { pools, invalid } = toPoolTable(stored);
  const shadowed = pools.flatMap(({ name, spec, unusable }) => {
    if (spec.disabled || unusable === undefined) return [];
    return [{ name, reason: `${unusable}: only that one is used, even while it is disabled; delete one of the two` }];
  });
  return [...shadowed, ...invalid].map(({ name, reason }) => ({ kind: "IPPool", object: name, detail: reason }));
}
