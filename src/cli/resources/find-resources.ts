/** Finds the objects that a command line names, blocks among them. */

import type { Resource } from "../../api/resource.ts";
import type { Damage, Datastore } from "../../datastore/datastore.ts";
import { comparePrefixes, toPrefixText, tryParsePrefix } from "../../lib/ip/prefix.ts";
import { quote } from "../../lib/quote.ts";
import { type LabelSelector, matchesLabels } from "../arguments/label-selector.ts";
import { toShownBlockName, toBlockResource } from "./block-resource.ts";
import { isWritable, type Named } from "./name-arguments.ts";
import { toTitle } from "./object-name.ts";
import type { Invocation } from "../failures/suggested-commands.ts";
import { describeUnreadable } from "./unreadable.ts";

/** What is there of what was named. */
export interface Found {
  readonly resources: readonly Resource<string>[];
  /** Titles of what was named and does not exist. */
  readonly missing: readonly string[];
  /** Why what was named cannot be read. */
  readonly unreadable: readonly string[];
}

/** Where a command line looks for objects. */
export interface Scope {
  /** Of what is namespaced; undefined: all. */
  readonly namespace: string | undefined;
  /** For objects that are not named one by one. @default all */
  readonly selector?: LabelSelector | undefined;
}

/** Looks for objects that a command line names. @param invocation for the commands in {@link Found.unreadable} */
export async function findResources(
  datastore: Datastore,
  { info, names }: Named,
  { namespace, selector }: Scope,
  invocation: Invocation,
): Promise<Found> {
  if (!isWritable(info)) return findBlocks(datastore, names);
  const { kind } = info;
  const within = info.namespaced && namespace !== undefined ? { namespace } : {};
  if (names.length === 0) {
    const selection = selector === undefined ? {} : { labelSelector: selector.text };
    const damages: Damage[] = [];
    const [stored] = await datastore.read([{ type: "list", kind, ...within, ...selection }], {
      onDamage: (damage) => damages.push(damage),
    });
    const all = stored.map(({ value }) => value);
    const resources = selector === undefined ? all : all.filter(({ metadata }) => matchesLabels(selector, metadata.labels));
    const unreadable = damages.map((damage) => describeUnreadable(damage, invocation));
    return { resources: kind === "Tier" ? resources.toSorted(byOrder) : resources, missing: [], unreadable };
  }
  const refs = names.map((name) => ({ kind, name, ...within }));
  const damages = new Map<string, Damage>();
  const onDamage = (damage: Damage): void => void damages.set(damage.found?.ref.name ?? damage.name, damage);
  const answers = await datastore.read(
    refs.map((ref) => ({ type: "get", ref }) as const),
    { onDamage },
  );
  return {
    resources: answers.flatMap((stored) => (stored === undefined ? [] : [stored.value])),
    missing: refs.filter(({ name }, index) => answers[index] === undefined && !damages.has(name)).map(toTitle),
    unreadable: [...damages.values()].map((damage) => describeUnreadable(damage, invocation)),
  };
}

/** Leaves out blocks that cannot be read, and reports them: they may be why somebody looks. */
async function findBlocks(datastore: Datastore, names: readonly string[]): Promise<Found> {
  const damages: Damage[] = [];
  const [stored] = await datastore.read([{ type: "all-blocks" }], { onDamage: (damage) => damages.push(damage) });
  const inOrder = stored.toSorted((a, b) => comparePrefixes(a.value.cidr, b.value.cidr));
  const blocks = inOrder.map((block) => toBlockResource(block, datastore.type));
  const unreadable = damages.filter(({ isAnswered }) => !isAnswered);
  if (names.length === 0) return { resources: blocks, missing: [], unreadable: unreadable.map(({ reason }) => reason) };
  const byName = new Map(blocks.map((block) => [block.metadata.name, block]));
  for (const block of blocks) byName.set(block.spec.cidr, block);
  const reasons = new Map(unreadable.flatMap((damage) => namesOf(damage, datastore.type).map((name) => [name, damage.reason])));
  const wanted = names.map(toKnownName);
  const absent = wanted.filter((name) => !byName.has(name));
  return {
    resources: wanted.flatMap((name) => byName.get(name) ?? []),
    missing: names
      .filter((name) => !byName.has(toKnownName(name)) && !reasons.has(toKnownName(name)))
      .map((name) => `ipamblock ${quote(name)}`),
    unreadable: absent.flatMap((name) => reasons.get(name) ?? []),
  };
}

/** What people may call a block that cannot be read. */
function namesOf({ name, cidr }: Damage, datastore: Datastore["type"]): readonly string[] {
  return cidr === undefined ? [name] : [name, toShownBlockName(cidr, datastore), toPrefixText(cidr)];
}

/** People know a block by its CIDR, however they write it. */
export function toKnownName(name: string): string {
  const cidr = name.includes("/") ? tryParsePrefix(name) : undefined;
  return cidr === undefined ? name : toPrefixText(cidr);
}

/** Tiers are read in the order in which they are asked. */
function byOrder(a: Resource, b: Resource): number {
  const orderOf = ({ spec }: Resource): number => (spec as { readonly order?: number }).order ?? Number.POSITIVE_INFINITY;
  const [left, right] = [orderOf(a), orderOf(b)];
  return left === right ? (a.metadata.name < b.metadata.name ? -1 : 1) : left - right;
}
