/** Finds the objects that a command line names, blocks among them. */

import type { Resource } from "../../api/resource.ts";
import type { Datastore } from "../../datastore/datastore.ts";
import { toPrefixText, tryParsePrefix } from "../../lib/ip/prefix.ts";
import { quote } from "../../lib/quote.ts";
import { toBlockResource } from "./block-resource.ts";
import { isWritable, type Named } from "./name-arguments.ts";
import { toTitle } from "./object-name.ts";

/** What is there of what was named. */
export interface Found {
  readonly resources: readonly Resource<string>[];
  /** Titles of what was named and does not exist. */
  readonly missing: readonly string[];
}

/** Looks for objects that a command line names. @param namespace of what is namespaced; undefined: all */
export async function findResources(datastore: Datastore, { info, names }: Named, namespace: string | undefined): Promise<Found> {
  if (!isWritable(info)) return findBlocks(datastore, names);
  const { kind } = info;
  const within = info.namespaced && namespace !== undefined ? { namespace } : {};
  if (names.length === 0) {
    const [stored] = await datastore.read([{ type: "list", kind, ...within }]);
    const resources = stored.map(({ value }) => value);
    return { resources: kind === "Tier" ? resources.toSorted(byOrder) : resources, missing: [] };
  }
  const refs = names.map((name) => ({ kind, name, ...within }));
  const answers = await datastore.read(refs.map((ref) => ({ type: "get", ref }) as const));
  return {
    resources: answers.flatMap((stored) => (stored === undefined ? [] : [stored.value])),
    missing: refs.filter((_, index) => answers[index] === undefined).map(toTitle),
  };
}

async function findBlocks(datastore: Datastore, names: readonly string[]): Promise<Found> {
  const [stored] = await datastore.read([{ type: "all-blocks" }]);
  const blocks = stored.map((block) => toBlockResource(block, datastore.type));
  if (names.length === 0) return { resources: blocks, missing: [] };
  const byName = new Map(blocks.map((block) => [block.metadata.name, block]));
  for (const block of blocks) byName.set(block.spec.cidr, block);
  const wanted = names.map((name) => ({ name, block: byName.get(toKnownName(name)) }));
  return {
    resources: wanted.flatMap(({ block }) => (block === undefined ? [] : [block])),
    missing: wanted.filter(({ block }) => block === undefined).map(({ name }) => `ipamblock ${quote(name)}`),
  };
}

/** People know a block by its CIDR, however they write it. */
function toKnownName(name: string): string {
  const cidr = name.includes("/") ? tryParsePrefix(name) : undefined;
  return cidr === undefined ? name : toPrefixText(cidr);
}

/** Tiers are read in the order in which they are asked. */
function byOrder(a: Resource, b: Resource): number {
  const orderOf = ({ spec }: Resource): number => (spec as { readonly order?: number }).order ?? Number.POSITIVE_INFINITY;
  const [left, right] = [orderOf(a), orderOf(b)];
  return left === right ? (a.metadata.name < b.metadata.name ? -1 : 1) : left - right;
}
