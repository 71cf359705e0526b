/** Deletes a pool whose addresses may be in use. */

import type { IPPoolSpec } from "../../api/ip-pool.ts";
import type { Resource } from "../../api/resource.ts";
import { CLUSTER_INFORMATION } from "../../datastore/cluster-state.ts";
import { cidrOfPool } from "../../ipam/admin/pool-cidr.ts";
import { hasBegun } from "../../ipam/block.ts";
import type { Prefix } from "../../lib/ip/prefix.ts";
import { withRetries } from "./compare-and-swap.ts";
import { deleteIfEmpty } from "./empty-block.ts";
import { NotFound } from "./object-name.ts";
import { claimedBlocks } from "./pool-rules.ts";
import { readForDeletion } from "./unreadable.ts";
import type { Target } from "./write.ts";
import { guardsFor } from "./write-guards.ts";

/** What became of the pool's blocks. */
export interface PoolDeletion {
  readonly releasedBlocks: number;
  /** Blocks that stay, because running workloads keep their addresses. */
  readonly keptBlocks: number;
  readonly keptAddresses: number;
  /** What was stored in its place, if that was no pool: where its blocks are is not known. */
  readonly text?: string;
}

/** How many blocks are read at once. */
const PAGE = 100;

/**
 * Disables the pool, releases its empty blocks, deletes it. Nothing is given from it once it is disabled: every allocation
 * compares the revision of its pool, so none that had begun before can end after. Blocks in use stay.
 * Once they are empty, they are deleted by the runtime's GC, when a pool of another block size is created there, or when this pool is created
 * again and deleted.
 *
 * @throws {CommandFailed} when there is none
 */
export async function deletePool(target: Target, name: string): Promise<PoolDeletion> {
  const { cidr, text } = await disable(target, name);
  const releasedBlocks = cidr === undefined ? 0 : await releaseEmptyBlocks(target, cidr);
  const kept = cidr === undefined ? { keptBlocks: 0, keptAddresses: 0 } : await countKept(target, cidr);
  await remove(target, name);
  return { releasedBlocks, ...kept, ...(text !== undefined && { text }) };
}

/** @returns the pool's CIDR; undefined when somebody wrote one past the validation that makes no sense */
async function disable(target: Target, name: string): Promise<{ readonly cidr: Prefix | undefined; readonly text: string | undefined }> {
  return withRetries(`disable ippool "${name}"`, async () => {
    const { pool, text, guards } = await read(target, name);
    const spec = pool.value.spec as IPPoolSpec;
    const done = { cidr: cidrOfPool(pool.value), text };
    if (spec.disabled === true || pool.isUnreadable === true) return done;
    const disabled: Resource = { ...pool.value, spec: { ...spec, disabled: true } };
    const result = await target.datastore.commit([{ op: "update", resource: disabled, revision: pool.revision }, ...guards]);
    return result.committed ? done : undefined;
  });
}

async function releaseEmptyBlocks(target: Target, within: Prefix): Promise<number> {
  const now = Math.floor(target.io.clock.now() / 1_000);
  let released = 0;
  for (;;) {
    const [empty] = await target.datastore.read([{ type: "empty-blocks", within, limit: PAGE }]);
    const cooled = empty.filter(({ since }) => hasBegun(since, now));
    const done = await Promise.all(cooled.map((ref) => deleteIfEmpty(target, ref)));
    const count = done.filter(Boolean).length;
    released += count;
    if (count === 0 || empty.length < PAGE) return released;
  }
}

async function countKept({ datastore }: Target, within: Prefix): Promise<Omit<PoolDeletion, "releasedBlocks">> {
  let keptBlocks = 0;
  let keptAddresses = 0;
  for await (const refs of inGroups(claimedBlocks(datastore, within))) {
    const blocks = await datastore.read(refs.map(({ cidr, node }) => ({ type: "block", ref: { cidr, node } }) as const));
    for (const block of blocks) {
      if (block === undefined) continue;
      keptBlocks++;
      keptAddresses += block.value.allocations.length;
    }
  }
  return { keptBlocks, keptAddresses };
}

/** Groups of as many as are read at once; the last may be smaller. */
async function* inGroups<T>(items: AsyncIterable<T>): AsyncGenerator<readonly T[]> {
  let group: T[] = [];
  for await (const item of items) {
    group.push(item);
    if (group.length < PAGE) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}

async function remove(target: Target, name: string): Promise<void> {
  await withRetries(`delete ippool "${name}"`, async () => {
    const { pool, guards } = await read(target, name);
    const ref = { kind: "IPPool", name } as const;
    const result = await target.datastore.commit([{ op: "delete", ref, revision: pool.revision }, ...guards]);
    return result.committed ? true : undefined;
  });
}

async function read({ datastore }: Target, name: string) {
  const ref = { kind: "IPPool", name } as const;
  const [information] = await datastore.read([CLUSTER_INFORMATION]);
  const found = await readForDeletion(datastore, ref);
  if (found === undefined) throw new NotFound(ref);
  return { pool: found.stored, text: found.text, guards: guardsFor("IPPool", information) };
}
