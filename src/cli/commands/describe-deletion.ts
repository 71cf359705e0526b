/** What became of an object that was told to go. */

import type { ResourceRef } from "../../datastore/datastore.ts";
import { quote } from "../../lib/quote.ts";
import type { OpenKube } from "../io.ts";

/** What is said of an object that is gone. */
export const DELETED = "deleted";

/**
 * An API server takes the order at once; when the object goes, those decide who have put a finalizer on it.
 *
 * @param openKube undefined: the datastore is etcd
 * @returns {@link DELETED}, or that it is being deleted, and what keeps it
 */
export async function describeDeletion(ref: ResourceRef, openKube: OpenKube | undefined): Promise<string> {
  if (openKube === undefined) return DELETED;
  const { finalizersThatKeep } = await import("../kubernetes/finalizers.ts");
  const finalizers = await finalizersThatKeep(await openKube(), ref);
  if (finalizers.length === 0) return DELETED;
  const [noun, verb, those] = finalizers.length === 1 ? ["finalizer", "keeps", "that is"] : ["finalizers", "keep", "those are"];
  return `is being deleted: ${noun} ${finalizers.map(quote).join(", ")} ${verb} it until ${those} removed`;
}
