/** A process's turn to change the blocks of its node, and how it waits for it. */

import type { Datastore } from "../../datastore/datastore.ts";
import type { Deadline } from "../../lib/deadline.ts";
import type { Clock } from "../../lib/ports.ts";
import type { AddressRequest } from "../request.ts";

/** A process's turn to change the node's blocks; over when it is disposed of. */
export interface NodeTurn extends Disposable {
  /** Those who wait; undefined: nobody does. */
  readonly queue?: Queue | undefined;
  /** Whether others may have served this attachment's request since the call began: facts that were read before are outdated then. */
  readonly isReadOutdated?: boolean;
}

/**
 * The requests of those who wait for their turn. Whoever has the turn serves them in its own commit (a group commit): it allocates their
 * addresses, and each of them only has to record its own.
 */
export interface Queue {
  /** Read again for each try, because processes may have died. */
  requests(): readonly AddressRequest[];
  /** Tells processes that a commit has served their requests. */
  tellServed(served: readonly AddressRequest[]): void;
}

/** How long to wait for a turn, and what others may do for us until then. */
export interface TurnWait {
  /** Gives up when no turn has ended for this long, in milliseconds; 0: takes a free lock, but does not wait. */
  readonly stallMs: number;
  /** Gives up after this long in any case, in milliseconds. */
  readonly maxMs: number;
  /** Called when we have to wait: the request to put into the queue. */
  readonly request?: (() => AddressRequest | undefined) | undefined;
}

/** What a wait for the turn needs of the world. */
export interface TurnPorts {
  readonly datastore: Datastore;
  readonly clock: Clock;
  /** Of the whole operation. */
  readonly deadline: Deadline;
  /**
   * Waits for the turn of this process among those of the node, so that they do not all change one block at once. It only saves retries:
   * without it, nothing goes wrong.
   *
   * @returns undefined when the time is over, or another process has served our request
   */
  readonly takeTurn?: (wait: TurnWait) => Promise<NodeTurn | undefined>;
}

/** Our turn, from the end of the wait for it: over at once if we got none. */
export class OwnTurn implements Disposable {
  readonly waitedMs: number;
  #turn: NodeTurn | undefined;

  constructor(turn: NodeTurn | undefined, waitedMs: number) {
    this.#turn = turn;
    this.waitedMs = waitedMs;
  }

  /** Whether facts that were read before the wait may be outdated. */
  get isReadOutdated(): boolean {
    return this.waitedMs > 0 || this.#turn?.isReadOutdated === true;
  }

  /** Then we serve nobody, and save no prefetch: whoever has the turn knows better what the next request needs. */
  get isOver(): boolean {
    return this.#turn === undefined;
  }

  /** Those who wait for the end of our turn. */
  get queue(): Queue | undefined {
    return this.#turn?.queue;
  }

  /** Ends it; does nothing where it is over. */
  [Symbol.dispose](): void {
    const turn = this.#turn;
    this.#turn = undefined;
    turn?.[Symbol.dispose]();
  }
}

/** The turn of a process that takes none: there are no others to wait for it. */
const ONLY_TURN: NodeTurn = { [Symbol.dispose]() {} };

/** No turn lasts this long unless its process is stopped: a process gives up each of its requests after 5 s. */
const STALL_MS = 10_000;

/** Waits for this process's turn. The caller goes on even without one. */
export async function waitForTurn({ takeTurn, deadline, clock }: TurnPorts, request: TurnWait["request"]): Promise<OwnTurn> {
  if (takeTurn === undefined) return new OwnTurn(ONLY_TURN, 0);
  const since = clock.monotonic();
  let turn: NodeTurn | undefined;
  try {
    turn = await takeTurn({ stallMs: 0, maxMs: 0 });
    if (turn !== undefined) return new OwnTurn(turn, 0);
    // Half of the remaining time stays for the commit, which may succeed without the lock.
    const maxMs = deadline.remainingMs() / 2;
    turn = await takeTurn({ stallMs: Math.min(STALL_MS, maxMs), maxMs, request });
  } catch {
    // A lock that cannot be created: compare-and-swap alone prevents wrong writes.
  }
  return new OwnTurn(turn, clock.monotonic() - since);
}
