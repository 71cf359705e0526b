/** Waits for the lock of the node's processes, and says what must be read again after the wait. */

import { networksOf, type WorkloadEndpoint } from "../api/workload-endpoint.ts";
import type { Datastore, Query } from "../datastore/datastore.ts";
import type { Deadline } from "../lib/deadline.ts";
import type { Clock } from "../lib/ports.ts";
import type { Facts } from "./facts.ts";

/** What a wait for the lock needs of the world. */
export interface LockPorts {
  readonly datastore: Datastore;
  readonly clock: Clock;
  /** Of the whole operation. */
  readonly deadline: Deadline;
  /**
   * Waits at most `waitMs` for the lock of the node's processes, so that they do not all change one block at once; released by disposing
   * of it. Only saves retries: nothing becomes wrong without it.
   */
  readonly takeLock?: (waitMs: number) => Promise<Disposable | undefined>;
}

/** The lock, or none, and how long it was waited for. */
export interface LockWait {
  /** Released by disposing of it. */
  readonly lock: Disposable | undefined;
  readonly waitedMs: number;
}

/**
 * After a wait this long, the resources that commits have conditions on are read again with the blocks: a commit reads them itself, in an
 * extra round, when they are 5 s old.
 */
const OUT_OF_DATE_MS = 3_000;

/** Waits for the lock of the node's processes. Without it this process goes on all the same. */
export async function waitForLock({ takeLock, deadline, datastore, clock }: LockPorts): Promise<LockWait> {
  if (takeLock === undefined) return { lock: undefined, waitedMs: 0 };
  const since = clock.monotonic();
  let lock: Disposable | undefined;
  try {
    lock = await takeLock(0);
    if (lock !== undefined) return { lock, waitedMs: 0 };
    // Half of the remaining time stays for the commit, which may succeed without the lock.
    lock = await takeLock(Math.min(datastore.traits.lockWaitMs, deadline.remainingMs() / 2));
  } catch {
    // A lock that cannot be created: compare-and-swap alone prevents wrong writes.
  }
  return { lock, waitedMs: clock.monotonic() - since };
}

/**
 * What must be read again after a wait, in which others changed blocks and removed addresses from records: everything, where one request
 * reads one snapshot; only blocks and such records, where each query is a request of its own.
 */
export function outdatedBy(waitedMs: number, { datastore }: LockPorts, queries: readonly Query[], facts: Facts): readonly Query[] {
  if (waitedMs === 0) return [];
  if (datastore.traits.readsOneSnapshot) return queries;
  return queries.filter((query) => isAboutBlocks(query) || hasAddresses(query, facts) || (waitedMs >= OUT_OF_DATE_MS && isExpected(query)));
}

/** A single pool, too: it is read with the places of its blocks, and must not be older than they. */
function isAboutBlocks(query: Query): boolean {
  return query.type === "get" ? query.ref.kind === "IPPool" : query.type !== "list";
}

/** Whether the answer is a record with addresses: if it looks right, no decision writes it again. */
function hasAddresses(query: Query, facts: Facts): boolean {
  if (query.type !== "get" || query.ref.kind !== "WorkloadEndpoint") return false;
  const stored = facts.find(query)?.answer;
  return stored !== undefined && networksOf(stored.value as WorkloadEndpoint).length > 0;
}

/** Whether commits have conditions on the answer. */
function isExpected(query: Query): boolean {
  return query.type === "get" ? query.ref.kind === "ClusterInformation" : query.type === "list" && query.kind === "IPPool";
}
