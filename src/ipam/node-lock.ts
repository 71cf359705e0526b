/** The lock that a node's processes hold one after the other: the wait for it, and what is out of date after the wait. */

import { networksOf, type WorkloadEndpoint } from "../api/workload-endpoint.ts";
import { CLUSTER_INFORMATION } from "../datastore/cluster-state.ts";
import type { Datastore, Query } from "../datastore/datastore.ts";
import type { Deadline } from "../lib/deadline.ts";
import type { Clock } from "../lib/ports.ts";
import { IP_POOLS } from "./cluster.ts";
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
 * After such a wait, what commits expect is asked for again with the blocks: of what is 5 s old the commit would ask itself, in a round of
 * its own.
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
    // The other half is for the commit, which may succeed without the lock.
    lock = await takeLock(Math.min(datastore.traits.lockWaitMs, deadline.remainingMs() / 2));
  } catch {
    // A lock that cannot be made: compare-and-swap decides, as always.
  }
  return { lock, waitedMs: clock.monotonic() - since };
}

/**
 * What must be read again after a wait. Others had the lock meanwhile: they changed blocks, and took addresses out of records. These are
 * read again, alone where each answer is a request of its own, else together with everything, in one snapshot. The rest is as old as in a
 * process that came earlier and had the lock at once.
 */
export function outdatedBy(waitedMs: number, { datastore }: LockPorts, queries: readonly Query[], facts: Facts): readonly Query[] {
  if (waitedMs === 0) return [];
  if (datastore.traits.readsOneSnapshot) return queries;
  return queries.filter((query) => isAboutBlocks(query) || hasAddresses(query, facts) || (waitedMs >= OUT_OF_DATE_MS && isExpected(query)));
}

/** A single pool, too: it is asked for with the places of its blocks, and must not be older than they. */
function isAboutBlocks(query: Query): boolean {
  return query.type === "get" ? query.ref.kind === IP_POOLS.kind : query.type !== "list";
}

/** Whether it is a record of addresses: one that seems right is not written again. */
function hasAddresses(query: Query, facts: Facts): boolean {
  if (query.type !== "get" || query.ref.kind !== "WorkloadEndpoint") return false;
  const stored = facts.find(query)?.answer;
  return stored !== undefined && networksOf(stored.value as WorkloadEndpoint).length > 0;
}

/** Whether commits have conditions on the answer: a few resources, whatever there is of others. */
function isExpected(query: Query): boolean {
  return query.type === "get" ? query.ref.kind === CLUSTER_INFORMATION.kind : query.type === "list" && query.kind === IP_POOLS.kind;
}
