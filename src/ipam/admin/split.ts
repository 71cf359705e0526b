/** Makes several pools of one, of equal size; blocks and workloads stay as they are. */

import type { IPPool } from "../../api/ip-pool.ts";
import type { Resource } from "../../api/resource.ts";
import type { ClusterInformation } from "../../api/cluster-information.ts";
import { expectUnchanged, requireReady } from "../../datastore/cluster-state.ts";
import type { Stored, Write } from "../../datastore/datastore.ts";
import { NetplugError } from "../../lib/errors.ts";
import { overlaps, type Prefix, subnetAt, toPrefixText } from "../../lib/ip/prefix.ts";
import { quote } from "../../lib/quote.ts";
import { toPoolTable } from "../pools.ts";
import { cidrOfPool } from "./pools/pool-cidr.ts";

/** Most pools of one split: it is one commit. */
const MAX_PARTS = 64;

/** Somebody must lock the datastore before a split. */
export class NotLocked extends NetplugError {
  override readonly name = "NotLocked";
}

/** One of the pools that a split makes. */
export interface Part {
  /** `split-<name>-<i>`, with everything but the CIDR as the pool that is split. */
  readonly pool: IPPool;
  /** An earlier split, which was interrupted, has made it: on Kubernetes a commit is several requests. */
  readonly isThere: boolean;
}

/** What a split replaces by what. */
export interface SplitPlan {
  /** In address order. */
  readonly parts: readonly Part[];
  /**
   * Makes the first part alone, whose name a split into any number has; undefined when it is there. Where a commit is not applied at once, who makes
   * this part first is the only one to make others: parts of two splits would overlap.
   */
  readonly claim: readonly Write[] | undefined;
  /** Takes the place of the pool; holds as long as nobody changes it, or unlocks the datastore. */
  readonly writes: readonly Write[];
}

/** Where a part would be made there is another pool, or one that will soon be gone. */
export class PartTaken extends NetplugError {
  override readonly name = "PartTaken";
  readonly pool: string;

  constructor(split: string, { value, isEnding = false }: Stored<Resource>) {
    const { name } = value.metadata;
    const cidr = cidrOfPool(value);
    const where = cidr === undefined ? "" : ` (${toPrefixText(cidr)})`;
    const why = isEnding ? "is being deleted" : "is not what this split makes";
    super("invalidConfig", `split pool ${quote(split)}: ippool ${quote(name)} exists${where}, and ${why}`);
    this.pool = name;
  }
}

/**
 * Plans a split, or what an interrupted one has left to do.
 *
 * @param pools all of them
 * @param parts a power of two, 2..64
 * @param clusterInformation the datastore must be locked: an ADD that read the old pool could come in between
 * @throws {RangeError} the number of parts does not fit
 * @throws {NotLocked} it must not be split now
 * @throws {PartTaken} another pool has the name of a part, or an interrupted split into more parts has left one
 * @throws {NetplugError} invalidConfig when the pool cannot be split, notInitialised or tryAgainLater when nothing may be written
 */
export function planSplit(
  pool: Stored<Resource>,
  parts: number,
  clusterInformation: Stored<ClusterInformation> | undefined,
  pools: readonly Stored<Resource>[],
): SplitPlan {
  const { name } = pool.value.metadata;
  const table = toPoolTable([pool]);
  const [understood] = table.pools;
  if (understood === undefined)
    throw new NetplugError("invalidConfig", `split pool ${quote(name)}: ${table.invalid.map(({ reason }) => reason).join("; ")}`);
  const most = Math.min(MAX_PARTS, 2 ** (understood.blockLength - understood.cidr.length));
  if (most < 2) {
    const size = `${toPrefixText(understood.cidr)} has the size of one block (blockSize ${understood.blockLength})`;
    throw new NetplugError("invalidConfig", `split pool ${quote(name)}: ${size}, which cannot be split`);
  }
  if (!Number.isInteger(Math.log2(parts)) || parts < 2 || parts > most) {
    const size = `${toPrefixText(understood.cidr)} with blockSize ${understood.blockLength}`;
    throw new RangeError(`split pool ${quote(name)}: got ${parts} parts, want a power of two from 2 to ${most} for ${size}`);
  }
  const length = understood.cidr.length + Math.log2(parts);
  const { uid: _uid, resourceVersion: _version, creationTimestamp: _created, ...metadata } = pool.value.metadata;
  const locked = expectLocked(name, clusterInformation);
  const made = Array.from({ length: parts }, (_, i) => {
    const cidr = toPrefixText(subnetAt(understood.cidr, length, i));
    const part = {
      ...(pool.value as IPPool),
      metadata: { ...metadata, name: toPartName(name, i) },
      spec: { ...(pool.value as IPPool).spec, cidr },
    };
    return { part, found: findMade(part, name, pools) };
  });
  const leftOver = findLeftOver(name, understood.cidr, parts, pools);
  if (leftOver !== undefined) throw new PartTaken(name, leftOver);
  const first = made[0]?.found === undefined ? made[0] : undefined;
  const remove: Write = { op: "delete", ref: { kind: "IPPool", name }, revision: pool.revision };
  return {
    claim: first && [locked, { op: "create", resource: first.part }],
    parts: made.map(({ part, found }) => ({ pool: part, isThere: found !== undefined })),
    writes: [locked, ...made.map(({ part, found }) => makeOrExpect(part, found)), remove],
  };
}

function toPartName(split: string, index: number): string {
  return `split-${split}-${index}`;
}

/** Parts are made side by side: of a split into more, those may be there that overlap the last ones of this split, and have no name of theirs. */
function findLeftOver(split: string, cidr: Prefix, parts: number, pools: readonly Stored<Resource>[]): Stored<Resource> | undefined {
  const names = new Set(Array.from({ length: MAX_PARTS - parts }, (_, i) => toPartName(split, parts + i)));
  return pools.find(({ value }) => {
    const other = names.has(value.metadata.name) ? cidrOfPool(value) : undefined;
    return other !== undefined && overlaps(cidr, other);
  });
}

/** @throws {PartTaken} the pool of that name is another one, or goes: the range would have no pool then */
function findMade(part: IPPool, split: string, pools: readonly Stored<Resource>[]): Stored<Resource> | undefined {
  const found = pools.find(({ value }) => value.metadata.name === part.metadata.name);
  if (found !== undefined && (found.isEnding === true || !Bun.deepEquals(found.value.spec, part.spec))) throw new PartTaken(split, found);
  return found;
}

function makeOrExpect(part: IPPool, found: Stored<Resource> | undefined): Write {
  if (found === undefined) return { op: "create", resource: part };
  return { op: "expect", ref: { kind: "IPPool", name: part.metadata.name }, revision: found.revision };
}

function expectLocked(name: string, stored: Stored<ClusterInformation> | undefined): Write {
  requireReady(stored, "release");
  if (stored.value.spec.datastoreReady === true) {
    throw new NotLocked("tryAgainLater", `split pool ${quote(name)}: the datastore is not locked; lock it first`, { retriable: false });
  }
  return expectUnchanged(stored);
}
