/** For tests: what is done with a datastore again and again. */

import type { Block } from "../../src/api/ipam-block.ts";
import type { WorkloadEndpoint } from "../../src/api/workload-endpoint.ts";
import type { Datastore, Query, ResourceRef, Revision, Stored } from "../../src/datastore/datastore.ts";
import { toPrefixText } from "../../src/lib/ip/prefix.ts";
import { makePool } from "./resources.ts";

/** Commits what must not conflict. */
export async function commit(datastore: Datastore, ...writes: Parameters<Datastore["commit"]>[0]): Promise<Revision> {
  const result = await datastore.commit(writes);
  if (!result.committed) throw new Error(`conflict: ${JSON.stringify(writes.map((write) => write.op))}`);
  return result.revision;
}

/** Asks one question. */
export async function ask<const Q extends Query>(datastore: Datastore, query: Q) {
  return (await datastore.read([query]))[0];
}

/** Reads a block that must be there. */
export async function readBlock(datastore: Datastore, block: Block): Promise<Stored<Block>> {
  const stored = await ask(datastore, { type: "block", ref: block });
  if (stored === undefined) throw new Error(`no block ${toPrefixText(block.cidr)} of ${block.node}`);
  return stored;
}

/** Reads an endpoint that must be there. */
export async function readEndpoint(datastore: Datastore, ref: ResourceRef): Promise<Stored<WorkloadEndpoint>> {
  const stored = await ask(datastore, { type: "get", ref });
  if (stored === undefined) throw new Error(`no endpoint ${ref.name}`);
  return stored as Stored<WorkloadEndpoint>; // the type of the query does not say the kind
}

/** Commits a pool of this name, which may conflict. */
export function create(datastore: Datastore, name: string): ReturnType<Datastore["commit"]> {
  return datastore.commit([{ op: "create", resource: makePool(name) }]);
}

/** Names of all pools. */
export async function namesIn(datastore: Datastore): Promise<readonly string[]> {
  return (await ask(datastore, { type: "list", kind: "IPPool" })).map(({ value }) => value.metadata.name);
}

/** Commits a pool, reads it back and closes. */
export async function use(datastore: Datastore, name: string): Promise<"works" | "conflict"> {
  try {
    const { committed } = await create(datastore, name);
    return committed && (await namesIn(datastore)).includes(name) ? "works" : "conflict";
  } finally {
    datastore.close();
  }
}
