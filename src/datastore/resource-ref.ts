/** By what a resource is named. */

import { KINDS } from "../api/registry.ts";
import type { Resource } from "../api/resource.ts";
import type { ResourceRef } from "./datastore.ts";

/** What queries and deletes name a resource by. */
export function refOf({ kind, metadata: { name, namespace } }: Resource): ResourceRef {
  return namespace === undefined ? { kind, name } : { kind, namespace, name };
}

/** Usable as a map key, and sorts as namespaces and names do. A namespace counts only where the kind has one. */
export function refKeyOf({ kind, namespace = "", name }: ResourceRef): string {
  return KINDS[kind].namespaced ? `${kind}/${namespace}/${name}` : `${kind}/${name}`;
}
