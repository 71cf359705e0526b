/** The index entries of a block, by which it is found without being read: a pure function of the block. */

import type { Block } from "../../../api/ipam-block.ts";
import { nextOrdinalsOf } from "../../../api/ipam-block-spare.ts";
import { borrowedKey, indexKey } from "./keys.ts";

/** An entry of an index that has to change in the same transaction as its block. */
export interface IndexChange {
  readonly key: string;
  /** undefined: the entry goes away. */
  readonly value: string | undefined;
}

/** All index entries that a block needs, key to value. */
function indexEntriesOf(block: Block): ReadonlyMap<string, string> {
  const { cidr, node } = block;
  const owned = JSON.stringify({ node });
  const entries = new Map([[indexKey("claims", cidr), owned]]);
  if (block.free.length > 0) {
    const next = nextOrdinalsOf(block);
    entries.set(indexKey("spare", cidr), next === undefined ? owned : JSON.stringify({ node, next }));
  }
  if (block.emptySince !== undefined) entries.set(indexKey("empty", cidr), JSON.stringify({ node, since: block.emptySince }));
  for (const { owner } of block.allocations) {
    if (owner.node !== node) entries.set(borrowedKey(owner.node, cidr), owned);
  }
  return entries;
}

/** What must be written so that the indexes follow a block from one state to the next; undefined: no block. */
export function indexChanges(previous: Block | undefined, next: Block | undefined): readonly IndexChange[] {
  const old: ReadonlyMap<string, string> = previous === undefined ? new Map() : indexEntriesOf(previous);
  const wanted: ReadonlyMap<string, string> = next === undefined ? new Map() : indexEntriesOf(next);
  const changes: IndexChange[] = [];
  for (const [key, value] of wanted) if (old.get(key) !== value) changes.push({ key, value });
  for (const key of old.keys()) if (!wanted.has(key)) changes.push({ key, value: undefined });
  return changes;
}
