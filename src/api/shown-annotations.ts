/** Annotations that an endpoint of Kubernetes shows and that nobody stores: what is written back has them, and they are left out. */

import { isJsonObject } from "../lib/json.ts";
import { BOUND_TO } from "./kubernetes-pod.ts";
import { ENDING_ADDRESSES, REPORTED_ADDRESSES } from "./reported-addresses.ts";

const SHOWN: ReadonlySet<string> = new Set([BOUND_TO, REPORTED_ADDRESSES, ENDING_ADDRESSES]);

/** Metadata without these, of whatever form it is; the same where there are none. */
export function withoutShown<T>(metadata: T): T {
  if (!isJsonObject(metadata) || !isJsonObject(metadata["annotations"])) return metadata;
  const all = Object.entries(metadata["annotations"]);
  const kept = all.filter(([key]) => !SHOWN.has(key));
  if (kept.length === all.length) return metadata;
  const { annotations: _, ...others } = metadata;
  return (kept.length === 0 ? others : { ...others, annotations: Object.fromEntries(kept) }) as T;
}
