/** The reference of an object, made from the object itself. */

import type { Resource } from "../api/resource.ts";
import type { ResourceRef } from "./datastore.ts";

/** What queries and deletes name an object by. */
export function refOf({ kind, metadata: { name, namespace } }: Resource): ResourceRef {
  return namespace === undefined ? { kind, name } : { kind, namespace, name };
}
