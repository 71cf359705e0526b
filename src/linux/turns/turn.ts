/** A fair lock: turns among the processes of a host, first come, first served. Its holder also gets the requests of those who wait. */

import { takeLock } from "../flock.ts";
import { listFolder } from "../folders.ts";
import { countWork, isUnderWay, requestsOf } from "./queue-files.ts";
import type { QueuedRequests } from "./queued-requests.ts";
import type { TurnOptions } from "./queue.ts";

/** A turn; over when it is disposed of. */
export interface Turn extends Disposable {
  /** The requests of those who wait; undefined: there were none when the turn began. */
  readonly queue: QueuedRequests | undefined;
  /** {@link countWork} as the turn begins. */
  readonly workCount: number;
}

/**
 * Takes the lock on a file as {@link takeLock} does, behind the processes that already wait. With `stallMs` 0 it does not wait: it takes a
 * free lock, even before the first in the queue notices. For processes that have nothing else to do: a wait blocks the event loop for up to
 * five seconds at a time.
 *
 * @returns undefined when the time is over; `served` when another process has carried out our request: then we need no turn, and have none
 * @throws {KernelError} ioFailure when the file cannot be made or locked
 */
export async function takeTurn(path: string, options: TurnOptions & { readonly request?: undefined }): Promise<Turn | undefined>;
export async function takeTurn(path: string, options: TurnOptions): Promise<Turn | "served" | undefined>;
export async function takeTurn(path: string, options: TurnOptions): Promise<Turn | "served" | undefined> {
  const { stallMs, clock } = options;
  const lock = stallMs <= 0 ? await takeLock(path, { waitMs: 0, clock }) : await (await import("./queue.ts")).waitInQueue(path, options);
  if (lock === undefined || lock === "served") return lock;
  using held = new DisposableStack();
  held.use(lock);
  const count = countWork(path);
  // Odd: a process died during its work, which freed the lock.
  const workCount = isUnderWay(count) ? (await import("./queued-requests.ts")).endWork(path, count) : count;
  // A process that has waited is one of many, so more may come while it works. One that has not looks whether there are requests.
  const isQueue = stallMs > 0 || (listFolder(requestsOf(path)) ?? []).length > 0;
  const queue = isQueue ? held.use((await import("./queued-requests.ts")).requestsIn(path, workCount)) : undefined;
  const all = held.move();
  return { queue, workCount, [Symbol.dispose]: () => all.dispose() };
}
