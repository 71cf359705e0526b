/** Where the datastore has an object, told from the object itself. */

import type { Resource } from "../api/resource.ts";
import type { ResourceRef } from "./datastore.ts";

/** By what a query or a delete names an object. */
export function refOf({ kind, metadata: { name, namespace } }: Resource): ResourceRef {
  return namespace === undefined ? { kind, name } : { kind, namespace, name };
}
