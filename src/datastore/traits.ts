/** How datastores differ for their users, who should ask for a trait and not for the type. */

/** What callers may rely on. */
export interface DatastoreTraits {
  /** All queries of a read are answered from one snapshot, in one request; otherwise each is a request of its own. */
  readonly readsOneSnapshot: boolean;
  /** A commit is applied at once; otherwise its blocks are written first, then its records: see `CommitOptions.onBlocksWritten`. */
  readonly commitsAtOnce: boolean;
  /** Lists are a moment old where a request allows it: see `RequestOptions.mayLag`. */
  readonly listsMayLag: boolean;
  /** The record of a workload endpoint is its pod, which exists before it and ends by itself. */
  readonly recordsArePods: boolean;
  /** What finds a block comes with it, as labels, and is compared where the block is read; otherwise it is stored beside it, and may differ. */
  readonly blocksAreLabelled: boolean;
}

/** A transaction reads one revision, and commits all or nothing. */
export const ETCD_TRAITS: DatastoreTraits = {
  readsOneSnapshot: true,
  commitsAtOnce: true,
  listsMayLag: false,
  recordsArePods: false,
  blocksAreLabelled: false,
};

/** Each write is one object, and lists may come from a cache. */
export const KUBERNETES_TRAITS: DatastoreTraits = {
  readsOneSnapshot: false,
  commitsAtOnce: false,
  listsMayLag: true,
  recordsArePods: true,
  blocksAreLabelled: true,
};
