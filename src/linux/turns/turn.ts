/** A fair lock: turns among the processes of a host, first come, first served; and what those who wait ask of whoever has the turn. */

import { takeLock } from "../flock.ts";
import { listFolder } from "../folders.ts";
import { countWork, isUnderWay, requestsOf } from "./queue-files.ts";
import type { QueuedRequests } from "./queued-requests.ts";
import type { TurnOptions } from "./queue.ts";

/** A turn; over when it is disposed of. */
export interface Turn extends Disposable {
  /** What those who wait ask for; undefined: nothing, as the turn began. */
  readonly queue: QueuedRequests | undefined;
  /** What {@link countWork} says in this turn before we have done any. */
  readonly workCount: number;
}

/**
 * Takes the lock on a file as {@link takeLock} does, after the processes that wait already. With `waitMs` 0 it takes a free lock at once, even
 * before the first in the queue has noticed. For processes that have nothing else to do: each wait blocks the event loop for up to five seconds
 * at a time.
 *
 * @returns undefined when the time is over; `served` when somebody has done what we asked for: then we need no turn, and have none
 * @throws {KernelError} ioFailure when the file cannot be made or locked
 * @throws the signal's reason
 */
export async function takeTurn(path: string, options: TurnOptions & { readonly request?: undefined }): Promise<Turn | undefined>;
export async function takeTurn(path: string, options: TurnOptions): Promise<Turn | "served" | undefined>;
export async function takeTurn(path: string, options: TurnOptions): Promise<Turn | "served" | undefined> {
  const { waitMs, clock } = options;
  const lock = waitMs <= 0 ? await takeLock(path, { waitMs, clock }) : await (await import("./queue.ts")).waitInQueue(path, options);
  if (lock === undefined || lock === "served") return lock;
  using held = new DisposableStack();
  held.use(lock);
  const count = countWork(path);
  // Whoever began it has ended without noting it, and so unlocked.
  const workCount = isUnderWay(count) ? (await import("./queued-requests.ts")).endWork(path, count) : count;
  // Who has waited itself is one of many: more may come while it works. Who has not looks whether anybody asks.
  const isQueue = waitMs > 0 || (listFolder(requestsOf(path)) ?? []).length > 0;
  const queue = isQueue ? held.use((await import("./queued-requests.ts")).requestsIn(path, workCount)) : undefined;
  const all = held.move();
  return { queue, workCount, [Symbol.dispose]: () => all.dispose() };
}
