/** The turns of the node's processes: how one waits for its own, and what it must read again after the wait. */

import { networksOf, type WorkloadEndpoint } from "../api/workload-endpoint.ts";
import type { Datastore, Query } from "../datastore/datastore.ts";
import type { Deadline } from "../lib/deadline.ts";
import type { Clock } from "../lib/ports.ts";
import type { Facts } from "./facts.ts";
import type { AddressRequest } from "./request.ts";

/** A process's turn to change the node's blocks; over when it is disposed of. */
export interface NodeTurn extends Disposable {
  /** Those who wait; undefined: nobody does. */
  readonly line?: Line | undefined;
  /** Whether somebody may have met a request of this attachment since the call began, so that facts which were read before miss it. */
  readonly isAfterMeeting?: boolean;
}

/**
 * Those who wait for their turn, and have said which addresses they want: who has the turn gives them theirs in its own commit. Each then only
 * has to record them.
 */
export interface Line {
  /** What they want; asked anew for each try, because they may be dead by then. */
  requests(): readonly AddressRequest[];
  /** Tells them that a commit has given it to them. */
  tellMet(met: readonly AddressRequest[]): void;
}

/** How long to wait for a turn, and what for. */
export interface TurnWait {
  /** While nobody's turn ends, in milliseconds; 0: takes a free lock at once. */
  readonly waitMs: number;
  /** At most, in milliseconds. */
  readonly longestMs: number;
  /** Called when we have to wait: what those before us may give us. */
  readonly ask?: (() => AddressRequest | undefined) | undefined;
}

/** What a wait for the turn needs of the world. */
export interface TurnPorts {
  readonly datastore: Datastore;
  readonly clock: Clock;
  /** Of the whole operation. */
  readonly deadline: Deadline;
  /**
   * Waits for the turn of this process among those of the node, so that they do not all change one block at once. Only saves retries: nothing
   * becomes wrong without it.
   *
   * @returns `met` when somebody before us has given us what we asked for; undefined when the time is over
   */
  readonly takeTurn?: (wait: TurnWait) => Promise<NodeTurn | "met" | undefined>;
}

/** How a wait ended. */
export interface Waited {
  /** Undefined: this process goes on without it. */
  readonly turn: NodeTurn | undefined;
  readonly waitedMs: number;
}

/** Nobody's turn lasts so long: whoever has it is stopped. It gives up each of its requests after 5 s. */
const STANDSTILL_MS = 10_000;

/**
 * After a wait this long, the resources that commits have conditions on are read again with the blocks: a commit reads them itself, in an
 * extra round, when they are 5 s old.
 */
const OUT_OF_DATE_MS = 3_000;

/** After a wait this long, reservations, settings and the node are read again, too. */
const ALL_OUT_OF_DATE_MS = 10_000;

/** Waits for this process's turn. Without one it goes on all the same. */
export async function waitForTurn({ takeTurn, deadline, clock }: TurnPorts, ask: TurnWait["ask"]): Promise<Waited> {
  if (takeTurn === undefined) return { turn: undefined, waitedMs: 0 };
  const since = clock.monotonic();
  let turn: NodeTurn | "met" | undefined;
  try {
    turn = await takeTurn({ waitMs: 0, longestMs: 0 });
    if (turn !== undefined && turn !== "met") return { turn, waitedMs: 0 };
    // Half of the remaining time stays for the commit, which may succeed without the lock.
    const longestMs = deadline.remainingMs() / 2;
    turn = await takeTurn({ waitMs: Math.min(STANDSTILL_MS, longestMs), longestMs, ask });
  } catch {
    // A lock that cannot be created: compare-and-swap alone prevents wrong writes.
  }
  return { turn: turn === "met" ? undefined : turn, waitedMs: clock.monotonic() - since };
}

/**
 * What must be read again after a wait, in which others changed blocks and removed addresses from records: everything, where one request
 * reads one snapshot, or after a long wait; else only blocks and such records.
 */
export function outdatedBy(
  { turn, waitedMs }: Waited,
  { datastore }: TurnPorts,
  queries: readonly Query[],
  facts: Facts,
): readonly Query[] {
  if (waitedMs === 0 && turn?.isAfterMeeting !== true) return [];
  if (datastore.traits.readsOneSnapshot || waitedMs >= ALL_OUT_OF_DATE_MS) return queries;
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
