/** Deletes a pool whose addresses may be in use. */

import type { IPPoolSpec } from "../../api/ip-pool.ts";
import { withIPAMConfigurationDefaults } from "../../api/ipam-configuration.ts";
import type { Resource } from "../../api/resource.ts";
import { CLUSTER_INFORMATION } from "../../datastore/cluster-state.ts";
import type { Revision, Stored, Write } from "../../datastore/datastore.ts";
import { cidrOfPool } from "../../ipam/admin/pools/pool-cidr.ts";
import { cooledDownAt, hasBegun } from "../../ipam/block.ts";
import { IPAM_CONFIGURATION } from "../../ipam/cluster.ts";
import { type Prefix, toPrefixText } from "../../lib/ip/prefix.ts";
import { withRetries } from "./compare-and-swap.ts";
import { deleteIfEmpty } from "./empty-block.ts";
import { NotFound } from "./object-name.ts";
import { claimedBlocks } from "./pool-rules.ts";
import { readForDeletion } from "./unreadable.ts";
import type { Target } from "./write.ts";
import { guardsFor } from "./write-guards.ts";

/** What became of the pool, which its finalizers may keep, and of its blocks. */
export interface PoolDeletion extends Pick<Stored<Resource>, "finalizers"> {
  readonly releasedBlocks: number;
  /** Blocks that this or somebody else deletes, and which another program's finalizer keeps for a while; only on Kubernetes. */
  readonly endingBlocks: number;
  /** Blocks that stay, because running workloads keep their addresses, or some cool down. */
  readonly keptBlocks: number;
  readonly keptAddresses: number;
  /** The second since 1970 in which the last address of those without any in use has cooled down; undefined: none cools down. */
  readonly coolsUntil?: number | undefined;
  /** What was stored in its place, if that was no pool: where its blocks are is not known. */
  readonly text?: string;
}

/** How many blocks are read, or deleted, at once. */
const PAGE = 100;

/**
 * Disables the pool, releases its empty blocks, counts the others, and deletes it at the revision at which it was disabled: when somebody has changed
 * it meanwhile, such as enabled it, all of that is done again. Nothing is given from a disabled pool: an allocation compares the revision of its
 * pool, in etcd together with its write, on Kubernetes just before it. There an ADD may end after the count; `ipam check` tells of its address.
 *
 * Blocks in use stay. Once they are empty, they are deleted by the runtime's GC, when a pool of another block size is created there, or when this
 * pool is created again and deleted.
 *
 * @param onDisabled told when this disables the pool, which it stays when it is not deleted then
 * @throws {CommandFailed} when there is none
 */
export async function deletePool(target: Target, name: string, onDisabled: () => void): Promise<PoolDeletion> {
  const released = new Set<string>();
  return withRetries(`delete ippool "${name}"`, async () => {
    const { pool, text } = await disable(target, name, onDisabled);
    // somebody may have written one past the validation that makes no sense
    const cidr = cidrOfPool(pool.value);
    if (cidr !== undefined) await releaseEmptyBlocks(target, cidr, released);
    const left = cidr === undefined ? NOTHING_LEFT : await countLeft(target, cidr);
    if (!(await remove(target, name, pool.revision))) return undefined;
    const { ending, ...kept } = left;
    return {
      ...kept,
      releasedBlocks: released.difference(ending).size,
      endingBlocks: ending.size,
      ...(pool.finalizers !== undefined && { finalizers: pool.finalizers }),
      ...(text !== undefined && { text }),
    };
  });
}

/** @returns the pool as it is stored when it is disabled; what is no pool at all gives nothing anyway */
async function disable(target: Target, name: string, onDisabled: () => void): Promise<Pick<PoolForDeletion, "pool" | "text">> {
  return withRetries(`disable ippool "${name}"`, async () => {
    const { pool, text, guards } = await read(target, name);
    const spec = pool.value.spec as IPPoolSpec;
    if (spec.disabled === true || pool.isUnreadable === true) return { pool, text };
    const disabled: Resource = { ...pool.value, spec: { ...spec, disabled: true } };
    const { committed } = await target.datastore.commit([{ op: "update", resource: disabled, revision: pool.revision }, ...guards]);
    if (committed) onDisabled();
    return undefined; // read it again: others may have been quicker, and its revision is another
  });
}

/** @param released gets the CIDRs of the released blocks */
async function releaseEmptyBlocks(target: Target, within: Prefix, released: Set<string>): Promise<void> {
  const now = Math.floor(target.io.clock.now() / 1_000);
  /** CIDRs of those that were looked at. Some stay, because they cool down, for example: each list has them again. */
  const seen = new Set<string>();
  for (let limit = PAGE; ; limit *= 8) {
    const [listed] = await target.datastore.read([{ type: "empty-blocks", within, limit }]);
    const unseen = listed.filter(({ cidr }) => !seen.has(toPrefixText(cidr)));
    for await (const refs of inGroups(unseen)) {
      const isDone = await Promise.all(refs.map(async (ref) => hasBegun(ref.since, now) && (await deleteIfEmpty(target, ref))));
      for (const [at, { cidr }] of refs.entries()) {
        seen.add(toPrefixText(cidr));
        if (isDone[at] === true) released.add(toPrefixText(cidr));
      }
    }
    if (listed.length < limit) return;
  }
}

/** What is left of a pool's blocks. */
interface LeftBlocks extends Pick<PoolDeletion, "keptBlocks" | "keptAddresses" | "coolsUntil"> {
  /** CIDRs of those that are being deleted. */
  readonly ending: ReadonlySet<string>;
}

/** Whose a block is that is being deleted: it cannot be read. */
const NOBODY = "";

const NOTHING_LEFT: LeftBlocks = { ending: new Set(), keptBlocks: 0, keptAddresses: 0 };

async function countLeft({ datastore, io }: Target, within: Prefix): Promise<LeftBlocks> {
  const [configuration] = await datastore.read([IPAM_CONFIGURATION]);
  const { ipCooldownSeconds } = withIPAMConfigurationDefaults(configuration?.value.spec as object | undefined);
  const now = Math.floor(io.clock.now() / 1_000);
  const ending = new Set<string>();
  let keptBlocks = 0;
  let keptAddresses = 0;
  let latest = now;
  for await (const refs of inGroups(claimedBlocks(datastore, within))) {
    for (const { cidr, node } of refs) if (node === NOBODY) ending.add(toPrefixText(cidr));
    const others = refs.filter(({ node }) => node !== NOBODY);
    const blocks = await datastore.read(others.map((ref) => ({ type: "block", ref }) as const));
    for (const block of blocks) {
      if (block === undefined) continue;
      keptBlocks++;
      keptAddresses += block.value.allocations.length;
      const { emptySince, releasedAt } = block.value;
      if (emptySince === undefined) continue;
      if (!hasBegun(emptySince, now)) latest = Math.max(latest, emptySince);
      latest = cooledDownAt(latest, releasedAt, ipCooldownSeconds);
    }
  }
  return { ending, keptBlocks, keptAddresses, coolsUntil: latest > now ? latest : undefined };
}

/** Groups of as many as are read at once; the last may be smaller. */
async function* inGroups<T>(items: AsyncIterable<T> | Iterable<T>): AsyncGenerator<readonly T[]> {
  let group: T[] = [];
  for await (const item of items) {
    group.push(item);
    if (group.length < PAGE) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}

/** @returns whether it was still of that revision */
async function remove(target: Target, name: string, revision: Revision): Promise<boolean> {
  const { guards } = await read(target, name);
  return (await target.datastore.commit([{ op: "delete", ref: { kind: "IPPool", name }, revision }, ...guards])).committed;
}

/** A pool, and what must hold of the cluster for it to be written. */
interface PoolForDeletion {
  readonly pool: Stored<Resource>;
  readonly text: string | undefined;
  readonly guards: readonly Write[];
}

async function read({ datastore }: Target, name: string): Promise<PoolForDeletion> {
  const ref = { kind: "IPPool", name } as const;
  const [information] = await datastore.read([CLUSTER_INFORMATION]);
  const found = await readForDeletion(datastore, ref);
  if (found === undefined) throw new NotFound(ref);
  return { pool: found.stored, text: found.text, guards: guardsFor("IPPool", information) };
}
