/** What became of an object that was told to go. */

import type { Resource } from "../../api/resource.ts";
import type { Stored } from "../../datastore/datastore.ts";
import { quote } from "../../lib/quote.ts";

/** What is said of an object that is gone. */
export const DELETED = "deleted";

/**
 * An API server takes the order at once; when the object goes, those decide who have put a finalizer on it.
 *
 * @param stored as it was at the revision that the deletion named
 * @returns {@link DELETED}, or that it is being deleted, and what keeps it
 */
export function describeDeletion({ finalizers = [] }: Pick<Stored<Resource>, "finalizers">): string {
  if (finalizers.length === 0) return DELETED;
  const [noun, verb, those] = finalizers.length === 1 ? ["finalizer", "keeps", "that is"] : ["finalizers", "keep", "those are"];
  return `is being deleted: ${noun} ${finalizers.map(quote).join(", ")} ${verb} it until ${those} removed`;
}
