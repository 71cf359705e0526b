/**
 * Many pools at once, as an ADD asks for them that finds one after the other full: one list of the newest, because the client's rate limit
 * would let only some of the requests pass.
 */

import type { Resource } from "../../../api/resource.ts";
import type { Query, Stored } from "../../datastore.ts";
import { toStoredResource } from "../objects/custom-object.ts";
import { typeOf } from "../objects/resource-types.ts";
import type { Batch } from "./batch.ts";

/** Pools that are asked for by name. */
const MAX_BY_NAME = 16;

/** Whether these queries ask for more pools than may be asked for by name. */
export function areManyPools(queries: readonly Query[]): boolean {
  return queries.filter((query) => query.type === "get" && query.ref.kind === "IPPool").length > MAX_BY_NAME;
}

/** @returns undefined when there is none */
export async function findPool(name: string, batch: Batch): Promise<Stored<Resource> | undefined> {
  const object = (await batch.list(typeOf("IPPool"))).find(({ metadata }) => metadata.name === name);
  return object === undefined ? undefined : toStoredResource("IPPool", object);
}
