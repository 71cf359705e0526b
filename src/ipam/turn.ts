/** One process of a node after the other: the wait for a turn, and what is out of date after it. */

import { networksOf, type WorkloadEndpoint } from "../api/workload-endpoint.ts";
import { CLUSTER_INFORMATION } from "../datastore/cluster-state.ts";
import type { Datastore, Query } from "../datastore/datastore.ts";
import type { Deadline } from "../lib/deadline.ts";
import type { Clock } from "../lib/ports.ts";
import { IP_POOLS } from "./cluster.ts";
import type { Facts } from "./facts.ts";

/** What a wait for a turn needs of the world. */
export interface TurnPorts {
  readonly datastore: Datastore;
  readonly clock: Clock;
  /** Of the whole operation. */
  readonly deadline: Deadline;
  /**
   * Waits at most `waitMs` for this process's turn among those of the node, so that they do not all change one block at once;
   * given back by disposing of it. Only saves retries: nothing becomes wrong without it.
   */
  readonly takeTurn?: (waitMs: number) => Promise<Disposable | undefined>;
}

/** A turn, or none, and how long it was waited for. */
export interface Turn {
  /** Given back by disposing of it. */
  readonly turn: Disposable | undefined;
  readonly waitedMs: number;
}

/**
 * After such a wait, what commits expect is asked for again with the blocks: of what is 5 s old the commit would ask itself, in a round of
 * its own.
 */
const OUT_OF_DATE_MS = 3_000;

/** Longest wait for a turn: the commits of a hundred others, on a slow disk or a busy API server. */
const TURN_WAIT_MS = { etcdv3: 500, memory: 500, kubernetes: 10_000 } as const;

/** Waits for this process's turn among those of its node. Without one it goes on all the same. */
export async function waitForTurn({ takeTurn, deadline, datastore, clock }: TurnPorts): Promise<Turn> {
  if (takeTurn === undefined) return { turn: undefined, waitedMs: 0 };
  const since = clock.monotonic();
  let turn: Disposable | undefined;
  try {
    turn = await takeTurn(0);
    if (turn !== undefined) return { turn, waitedMs: 0 };
    // The other half is for the commit, which may succeed without a turn.
    turn = await takeTurn(Math.min(TURN_WAIT_MS[datastore.type], deadline.remainingMs() / 2));
  } catch {
    // A lock that cannot be made: compare-and-swap decides, as always.
  }
  return { turn, waitedMs: clock.monotonic() - since };
}

/**
 * What must be read again after a wait. While others had their turns they changed blocks, and took addresses out of records: these, alone
 * where each answer is a request of its own; else everything, in one snapshot. The rest is as old as in a process that came earlier and had
 * its turn at once.
 */
export function outdatedBy(waitedMs: number, { datastore }: TurnPorts, queries: readonly Query[], facts: Facts): readonly Query[] {
  if (waitedMs === 0) return [];
  if (datastore.type !== "kubernetes") return queries;
  return queries.filter((query) => isAboutBlocks(query) || hasAddresses(query, facts) || (waitedMs >= OUT_OF_DATE_MS && isExpected(query)));
}

/** Of one pool is asked with the places of its blocks, and must not be older than they. */
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
