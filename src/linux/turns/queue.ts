/**
 * The queue of those who wait for a turn: see `turn.ts`, which loads this only for them.
 *
 * The process whose turn it is holds a lock (`flock.ts`). A process that must wait has a place in the queue (`place.ts`) until its turn, or the
 * process, ends. It reads from the place before its own: that read ends when the process before it leaves the queue or dies, and wakes no other
 * process. Only the first in the queue polls the lock, whose holder may have no place in the queue (`stallMs` 0).
 *
 * A process in the queue may be stopped, and never take its turn. So the others look at the lock now and then. A process that finds the lock
 * idle (`idle-lock.ts`) passes those before it, and tells the one behind it, which then need not find out itself.
 *
 * Nobody waits for a queue that stands still: the process whose turn it is may be stopped, too. While the queue moves, leaving it would only
 * bring back the races that it prevents.
 */

import type { Clock } from "../../lib/ports.ts";
import type { Fd } from "../fd.ts";
import { openLock, tryLock } from "../flock.ts";
import { BlockingWait } from "./blocking-wait.ts";
import { IdleLock } from "./idle-lock.ts";
import { queueOf } from "./queue-files.ts";
import { type PostedRequest, postRequest } from "./queued-requests.ts";
import { type Place, saysPassing, takePlace } from "./place.ts";

/** Milliseconds between looks at the lock by a process that is not the first in the queue. */
const POLL_INTERVAL_MS = 1_000;
/** Milliseconds until a process that was told of passing looks: later than the passed ones do, if those still run. */
const AFTER_PASSING_MS = 20;

/** Milliseconds between looks by the first in the queue: at first as short as an ADD's critical part. */
const FIRST_PAUSE_MS = 1;
const LONGEST_PAUSE_MS = 8;

/** How long to wait for a turn, and what others may do for us until then. */
export interface TurnOptions {
  /** Gives up when the queue has not moved for this long, in milliseconds. */
  readonly stallMs: number;
  /** Gives up after this long in any case, in milliseconds. @default `stallMs` */
  readonly maxMs?: number | undefined;
  readonly clock: Pick<Clock, "monotonic" | "sleep">;
  /** Called when we have to wait: the request to put into the queue. */
  readonly request?: (() => string | undefined) | undefined;
}

/** What `takeTurn()` does when it has to wait. */
export async function waitInQueue(path: string, options: TurnOptions): Promise<Disposable | "served" | undefined> {
  using held = new DisposableStack();
  // Disposed of in the opposite order: the lock is free before the end of our place wakes the next process.
  const place = held.use(takePlace(queueOf(path)));
  const text = place === undefined ? undefined : options.request?.();
  using request = place === undefined || text === undefined ? undefined : postRequest(path, place.name, text);
  const lock = held.use(openLock(path));
  const outcome = await waitFor({ lock, path, place, request }, options);
  return outcome === "locked" ? held.move() : outcome;
}

/** What a waiting process has. */
interface Waiting {
  readonly lock: Fd;
  readonly path: string;
  /** Undefined: there can be no queue. */
  readonly place: Place | undefined;
  readonly request: PostedRequest | undefined;
}

async function waitFor(
  { lock, path, place, request }: Waiting,
  { stallMs, maxMs = stallMs, clock }: TurnOptions,
): Promise<"locked" | "served" | undefined> {
  const wait = new BlockingWait({ stallMs, maxMs, clock }, place?.countPlaces());
  const idle = new IdleLock(lock, path);
  const isServed = (): boolean => request?.isServed() === true;
  let isPassing = false;
  for (;;) {
    using pipe = place?.findBefore();
    if (place === undefined || pipe === undefined) break;
    let lookAt = clock.monotonic() + (isPassing ? AFTER_PASSING_MS : POLL_INTERVAL_MS);
    for (; !(await wait.untilEnded(pipe, lookAt)); lookAt += POLL_INTERVAL_MS) {
      if (isServed()) return "served";
      wait.look(place.countPlaces());
      const isLast = wait.isOver();
      if (idle.take(() => (isPassing || isLast ? 1 : place.countLiving()))) {
        place.pass();
        return "locked";
      }
      if (isLast) return undefined;
      isPassing = false;
    }
    if (isServed()) return "served";
    wait.look(place.countPlaces());
    isPassing = saysPassing(pipe);
  }
  for (let pauseMs = FIRST_PAUSE_MS; !tryLock(lock, path); pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    if (wait.isOver()) return undefined;
    await wait.pause(pauseMs);
  }
  return isServed() ? "served" : "locked";
}
