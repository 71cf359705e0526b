/** The turns of the node's processes: how one waits for its own. */

import type { Datastore } from "../datastore/datastore.ts";
import type { Deadline } from "../lib/deadline.ts";
import type { Clock } from "../lib/ports.ts";
import type { AddressRequest } from "./request.ts";

/** A process's turn to change the node's blocks; over when it is disposed of. */
export interface NodeTurn extends Disposable {
  /** Those who wait; undefined: nobody does. */
  readonly queue?: Queue | undefined;
  /** Whether somebody may have served a request of this attachment since the call began, so that facts which were read before miss it. */
  readonly isReadOutdated?: boolean;
}

/**
 * Those who wait for their turn, and have said which addresses they want: who has the turn gives them theirs in its own commit. Each then only
 * has to record them.
 */
export interface Queue {
  /** What they want; asked anew for each try, because they may be dead by then. */
  requests(): readonly AddressRequest[];
  /** Tells them that a commit has given it to them. */
  tellServed(served: readonly AddressRequest[]): void;
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
   * @returns `served` when somebody before us has given us what we asked for; undefined when the time is over
   */
  readonly takeTurn?: (wait: TurnWait) => Promise<NodeTurn | "served" | undefined>;
}

/** How a wait ended. */
export interface Waited {
  /** Undefined: this process goes on without it. */
  readonly turn: NodeTurn | undefined;
  readonly waitedMs: number;
}

/** Nobody's turn lasts so long: whoever has it is stopped. It gives up each of its requests after 5 s. */
const STANDSTILL_MS = 10_000;

/** Waits for this process's turn. Without one it goes on all the same. */
export async function waitForTurn({ takeTurn, deadline, clock }: TurnPorts, ask: TurnWait["ask"]): Promise<Waited> {
  if (takeTurn === undefined) return { turn: undefined, waitedMs: 0 };
  const since = clock.monotonic();
  let turn: NodeTurn | "served" | undefined;
  try {
    turn = await takeTurn({ waitMs: 0, longestMs: 0 });
    if (turn !== undefined && turn !== "served") return { turn, waitedMs: 0 };
    // Half of the remaining time stays for the commit, which may succeed without the lock.
    const longestMs = deadline.remainingMs() / 2;
    turn = await takeTurn({ waitMs: Math.min(STANDSTILL_MS, longestMs), longestMs, ask });
  } catch {
    // A lock that cannot be created: compare-and-swap alone prevents wrong writes.
  }
  return { turn: turn === "served" ? undefined : turn, waitedMs: clock.monotonic() - since };
}
