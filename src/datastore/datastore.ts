/** The only way to what the cluster knows: resources and address blocks, read in batches and written atomically. */

import type { Block, BlockRef } from "../api/ipam-block.ts";
import type { SpareBlock } from "../api/ipam-block-spare.ts";
import type { ClusterInformation } from "../api/cluster-information.ts";
import type { Kind, Resource } from "../api/resource.ts";
import type { WorkloadEndpoint } from "../api/workload-endpoint.ts";
import type { NetplugError } from "../lib/errors.ts";
import type { Address } from "../lib/ip/address.ts";
import type { Prefix } from "../lib/ip/prefix.ts";
import type { DatastoreTraits } from "./traits.ts";

/** Opaque version of one stored thing: etcd's mod revision, Kubernetes' resourceVersion. Compared for equality only. */
export type Revision = string & { readonly brand: "Revision" };

/** Something stored, with the version that it was read at. */
export interface Stored<T> {
  readonly value: T;
  readonly revision: Revision;
  /**
   * Only of listed pools: the stored value cannot be read, so only the name is known. Lists of other kinds fail instead: an unreadable pool
   * merely gives no address, but an unreadable reservation may forbid one.
   */
  readonly isUnreadable?: boolean;
  /** The finalizers of an object of an API server: they keep it for a while after its deletion. @default none */
  readonly finalizers?: readonly string[];
  /** Whether such an object is being deleted, which nothing takes back. @default false */
  readonly isEnding?: boolean;
}

/** Names a resource. */
export interface ResourceRef {
  readonly kind: Kind;
  /** Only of namespaced kinds. */
  readonly namespace?: string;
  readonly name: string;
}

/** One question to the datastore. {@link Answer} maps each to the shape of its answer. */
export type Query =
  | { readonly type: "get"; readonly ref: ResourceRef }
  | {
      readonly type: "list";
      readonly kind: Kind;
      readonly namespace?: string;
      /** Kubernetes' syntax. Only a hint: a datastore may also answer what does not match, so the caller checks the labels itself. */
      readonly labelSelector?: string;
    }
  | { readonly type: "block"; readonly ref: BlockRef }
  | { readonly type: "blocks-of-node"; readonly node: string }
  /** Blocks of other nodes in which `node` holds addresses. */
  | { readonly type: "blocks-borrowed-by"; readonly node: string }
  /** The block that holds an address, if one is claimed. */
  | { readonly type: "block-of-address"; readonly address: Address }
  /** How many blocks are claimed inside a prefix. */
  | { readonly type: "count-blocks"; readonly within: Prefix }
  /** Claimed blocks that overlap a prefix, in address order, without those that begin below `from`; the node of one that is being deleted is "". */
  | { readonly type: "claimed-blocks"; readonly within: Prefix; readonly from?: Address; readonly limit: number }
  /** Blocks inside a prefix without any allocation, in address order, with the time since which they are empty. */
  | { readonly type: "empty-blocks"; readonly within: Prefix; readonly limit: number }
  /** Blocks inside a prefix with at least one unallocated address, in address order beginning at `from`, and what is next there. */
  | { readonly type: "spare-blocks"; readonly within: Prefix; readonly from?: Address; readonly limit: number }
  /** Every block, in any order; for administration only, never on the path of an ADD or DEL. */
  | { readonly type: "all-blocks" }
  /** The same a page at a time, each of them once; etcd, which reads blocks by name as quickly, answers one page. */
  | { readonly type: "block-page"; readonly from: BlockPageStart | undefined }
  /** The names of everything that is stored where blocks are, whoever wrote it, without the records; for administration only. */
  | { readonly type: "block-names" };

/** The queries of a type. */
export type QueryOf<T extends Query["type"]> = Extract<Query, { readonly type: T }>;

/** A block without an allocation, which a GC may release. */
export interface EmptyBlock extends BlockRef {
  /** Seconds since 1970 from which it counts as empty; in the future while an address cools down. */
  readonly since: number;
}

/** Where a page of blocks begins, for the datastore that said so. */
export type BlockPageStart = string & { readonly brand: "BlockPageStart" };

/** Some of all blocks. */
export interface BlockPage {
  readonly blocks: readonly Stored<Block>[];
  /** undefined: this is the last page. */
  readonly next: BlockPageStart | undefined;
}

/** Something that is stored where blocks are. */
export interface NamedBlock {
  /** Key in etcd, name of an object on Kubernetes. */
  readonly name: string;
  /** The block that should be there; undefined when name and labels do not say. */
  readonly ref: BlockRef | undefined;
}

/** A resource of a kind. A spec that people may have written has no type here: its reader must check it. */
type ResourceOf<K extends Kind> = [K] extends ["WorkloadEndpoint"]
  ? WorkloadEndpoint
  : [K] extends ["ClusterInformation"]
    ? ClusterInformation
    : Resource;

/** What queries about blocks are answered with, by their type. */
interface BlockAnswers {
  readonly block: Stored<Block> | undefined;
  readonly "blocks-of-node": readonly Stored<Block>[];
  readonly "blocks-borrowed-by": readonly BlockRef[];
  readonly "block-of-address": BlockRef | undefined;
  readonly "count-blocks": number;
  readonly "claimed-blocks": readonly BlockRef[];
  readonly "empty-blocks": readonly EmptyBlock[];
  readonly "spare-blocks": readonly SpareBlock[];
  readonly "all-blocks": readonly Stored<Block>[];
  readonly "block-page": BlockPage;
  readonly "block-names": readonly NamedBlock[];
}

/** What a query is answered with; undefined where nothing of that name is stored. */
export type Answer<Q extends Query> = Q extends { type: "get"; ref: { kind: infer K extends Kind } }
  ? Stored<ResourceOf<K>> | undefined
  : Q extends { type: "list"; kind: infer K extends Kind }
    ? readonly Stored<ResourceOf<K>>[]
    : Q extends { type: infer T extends keyof BlockAnswers }
      ? BlockAnswers[T]
      : never;

/** The answers to several queries, in their order. */
export type Answers<Qs extends readonly Query[]> = { readonly [I in keyof Qs]: Answer<Qs[I]> };

/** One change, or one condition, of a {@link Datastore.commit}. */
export type Write =
  /** Fails the commit when it exists. */
  | { readonly op: "create"; readonly resource: Resource }
  /** Fails the commit when the stored revision is another. */
  | { readonly op: "update"; readonly resource: Resource; readonly revision: Revision }
  | { readonly op: "delete"; readonly ref: ResourceRef; readonly revision?: Revision }
  /** Changes nothing; fails the commit when the revision is another, or (undefined) when it exists. */
  | { readonly op: "expect"; readonly ref: ResourceRef; readonly revision: Revision | undefined }
  /** Claims a block: fails the commit when the CIDR is claimed. */
  | { readonly op: "create-block"; readonly block: Block }
  /** Replaces a block; when its node differs from the previous one's, the claim moves with it. */
  | { readonly op: "update-block"; readonly block: Block; readonly previous: Stored<Block> }
  | { readonly op: "delete-block"; readonly previous: Stored<Block> }
  /** Changes nothing; fails the commit when the block has changed. Without effect where a commit is not applied at once. */
  | { readonly op: "expect-block"; readonly previous: Stored<Block> };

/** The writes of an operation. */
export type WriteOf<Op extends Write["op"]> = Extract<Write, { readonly op: Op }>;

/** Of every request. A signal that aborts rejects it with the signal's reason. */
export interface RequestOptions {
  /** Ends the wait; the driver's own limit per request (5 s) holds besides. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Whether lists of our resources may be a moment old. On Kubernetes the newest list costs up to 100 ms, because the API server first asks
   * its etcd. Other answers are always the newest.
   *
   * @default false
   */
  readonly mayLag?: boolean;
}

/** Something in the datastore that is not as netplug would have written it. */
export interface Damage {
  /** What it should be; an index entry of a block counts as the block. */
  readonly kind: Kind | "IPAMBlock";
  /** Key in etcd, name of an object on Kubernetes. */
  readonly name: string;
  /** The block that it is about, where its name says so. */
  readonly cidr?: Prefix;
  /** The node that should own the block, if known. */
  readonly node?: string;
  readonly reason: string;
  /** Whether the answer contains it, because only its index entries or labels are wrong. */
  readonly isAnswered: boolean;
  /** What is stored in the place of a resource. */
  readonly found?: FoundText;
}

/** Something that is no resource, in the place of one. */
export interface FoundText {
  readonly ref: ResourceRef;
  readonly text: string;
  readonly revision: Revision;
}

/** What a read does beyond answering its queries. */
export interface ReadOptions extends RequestOptions {
  /**
   * For administration: called for each damage, perhaps several times for one; answers leave out what cannot be read. Without it the first
   * damage fails the read.
   */
  readonly onDamage?: (damage: Damage) => void;
  /**
   * What `onDamage` is about: with `blocks`, resources are answered as without it.
   *
   * @default "all"
   */
  readonly damageOf?: "all" | "blocks";
  /** Called for each page of a long list of a kind, where there are pages, with the number of what is on it. */
  readonly onPage?: (kind: Kind | "IPAMBlock", number: number) => void;
}

/** What a commit does beyond its writes. */
export interface CommitOptions<Qs extends readonly Query[]> extends RequestOptions {
  /** What the caller wants to know when a condition does not hold. */
  readonly readOnConflict?: Qs;
  /**
   * Called after the commit's blocks are written, while its endpoints are being written, where the datastore has these two steps. What it
   * throws is thrown after the commit has ended.
   */
  readonly onBlocksWritten?: () => void;
}

/** What an ADD commits. */
export type CommitTarget = "blocks" | "endpoints";

/** How it is found out whether a commit could succeed. */
export interface CommitProbe extends RequestOptions {
  /** What would be committed. */
  readonly targets: readonly CommitTarget[];
  /**
   * Whether to ask, too, what takes requests of its own: on etcd one, whether an alarm is raised; on Kubernetes one for each target, whether our
   * account may write it.
   */
  readonly isThorough: boolean;
}

/** A condition of a commit did not hold: nothing was written; on Kubernetes, perhaps the writes that come before it in the order. */
export interface CommitConflict<Qs extends readonly Query[]> {
  readonly committed: false;
  /** What `readOnConflict` asked for, read in the same round trip where the datastore can. */
  readonly current: Answers<Qs>;
}

/** Whether all writes were done. A conflict has the answers to `readOnConflict`, so that the next try begins without a read. */
export type CommitResult<Qs extends readonly Query[]> = { readonly committed: true; readonly revision: Revision } | CommitConflict<Qs>;

/** What a watch tells of the kinds that it is about. */
export type WatchEvent =
  | { readonly type: "put"; readonly stored: Stored<Resource> }
  | { readonly type: "put-block"; readonly stored: Stored<Block> }
  | { readonly type: "delete"; readonly ref: ResourceRef }
  | { readonly type: "delete-block"; readonly ref: BlockRef }
  /** What was seen so far is void (first start, or history was compacted): a snapshot of all follows, ended by `in-sync`. */
  | { readonly type: "reset" }
  | { readonly type: "in-sync" }
  /**
   * The datastore cannot be reached, refuses to be watched, or ends each watch at once: what was seen may be old until `resumed`. Until then
   * there is no `reset` and no `in-sync`; on Kubernetes other kinds may still have changes.
   */
  | { readonly type: "interrupted"; readonly failure: NetplugError }
  /** It is watched again: what has changed meanwhile follows, after a `reset` where its history is gone. */
  | { readonly type: "resumed" }
  /** One of our keys has a value that we cannot have written; what the key is of, where that is known, counts as absent. */
  | { readonly type: "unreadable"; readonly key: string; readonly ref?: ResourceRef | BlockRef | undefined; readonly reason: string };

/** What is watched, until the signal aborts. */
export interface WatchOptions {
  readonly kinds: readonly (Kind | "IPAMBlock")[];
  /** Of namespaced kinds only what is in it. @default all */
  readonly namespace?: string | undefined;
  readonly signal: AbortSignal;
}

/**
 * A datastore. All methods throw `NetplugError`: `tryAgainLater` when it is unreachable, out of space or too slow,
 * `accessDenied` when it refuses us. After a commit that failed with {@link OutcomeUnknown} the caller reads again
 * before it decides.
 */
export interface Datastore {
  /** For messages, and for features of one datastore only; else use {@link traits}. */
  readonly type: "etcdv3" | "kubernetes" | "memory";
  readonly traits: DatastoreTraits;

  /** Answers all queries; on etcd from one snapshot in one round trip, on Kubernetes in parallel. */
  read<const Qs extends readonly Query[]>(queries: Qs, options?: ReadOptions): Promise<Answers<Qs>>;

  /** Applies all writes or none (Kubernetes: in an order whose every prefix is safe). */
  commit<const Qs extends readonly Query[] = readonly []>(writes: readonly Write[], options?: CommitOptions<Qs>): Promise<CommitResult<Qs>>;

  /**
   * Finds out whether a commit could succeed, without one. Reads what the caller would decide by, too.
   *
   * @throws {NetplugError} why `query` cannot be read, or why nothing can be committed
   * @returns why this node can claim no block; undefined: it can, or need not. On Kubernetes it must note each on its disk first.
   */
  probeCommit(query: Query, probe: CommitProbe): Promise<NetplugError | undefined>;

  /**
   * First a snapshot (`reset`, puts, `in-sync`), then the changes of each kind in order. Survives lost connections and compaction by itself;
   * ends when the signal aborts.
   */
  watch(options: WatchOptions): AsyncIterable<WatchEvent>;

  /** Requests made so far, for the ledger: sequential round trips as the caller saw them, and retries among them. */
  readonly requests: { readonly roundTrips: number; readonly retries: number };

  /** Lets go of connections. */
  close(): void;
}
