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
  const outcome = await waitFor({ path, lock, place, request }, options);
  if (outcome === "over") return undefined;
  return outcome === "locked" ? held.move() : outcome;
}

/** What a waiting process has. */
interface Waiting {
  readonly path: string;
  readonly lock: Fd;
  /** Undefined: there can be no queue. */
  readonly place: Place | undefined;
  readonly request: PostedRequest | undefined;
}

/** How a wait ends: `over` without anything, because it took too long. */
type Outcome = "locked" | "served" | "over";

async function waitFor({ path, lock, place, request }: Waiting, options: TurnOptions): Promise<Outcome> {
  const { stallMs, maxMs = stallMs, clock } = options;
  const wait = new BlockingWait({ stallMs, maxMs, clock }, place?.countPlaces());
  const isServed = (): boolean => request?.isServed() === true;
  if (place !== undefined) {
    const outcome = await waitBehindOthers({ clock, wait, place, idle: new IdleLock(lock, path), isServed });
    if (outcome !== undefined) return outcome;
  }
  if (!(await pollLock(lock, path, wait))) return "over";
  return isServed() ? "served" : "locked";
}

/** What a process has that is behind others. */
interface Behind {
  readonly clock: TurnOptions["clock"];
  readonly wait: BlockingWait;
  readonly place: Place;
  readonly idle: IdleLock;
  readonly isServed: () => boolean;
}

/** @returns undefined when nobody is before us any more */
async function waitBehindOthers(behind: Behind): Promise<Outcome | undefined> {
  let isTold = false;
  for (;;) {
    using pipe = behind.place.findBefore();
    if (pipe === undefined) return undefined;
    const outcome = await waitBehind(pipe, isTold, behind);
    if (outcome !== undefined) return outcome;
    isTold = saysPassing(pipe);
  }
}

/**
 * Waits until the process right before us leaves the queue, and looks at the lock now and then.
 *
 * @param isTold whether one that left has said that it passed this process: then the first look is soon, and takes a free lock at once
 * @returns undefined when it has left
 */
async function waitBehind(pipe: Fd, isTold: boolean, behind: Behind): Promise<Outcome | undefined> {
  const { clock, wait, place, isServed } = behind;
  let lookAt = clock.monotonic() + (isTold ? AFTER_PASSING_MS : POLL_INTERVAL_MS);
  for (let mayPass = isTold; !(await wait.untilEnded(pipe, lookAt)); mayPass = false) {
    const outcome = lookAtLock(mayPass, behind);
    if (outcome !== undefined) return outcome;
    lookAt += POLL_INTERVAL_MS;
  }
  if (isServed()) return "served";
  wait.look(place.countPlaces());
  return undefined;
}

/**
 * @param mayPass whether those before us need not be waited for: a free lock is theirs otherwise, until they have let it pass often enough
 * @returns undefined when the wait goes on
 */
function lookAtLock(mayPass: boolean, { wait, place, idle, isServed }: Behind): Outcome | undefined {
  if (isServed()) return "served";
  wait.look(place.countPlaces());
  const isOver = wait.isOver();
  const isTaken = idle.take(() => (mayPass || isOver ? 1 : place.countLiving()));
  if (!isTaken) return isOver ? "over" : undefined;
  place.pass();
  return "locked";
}

/** For whoever has nobody before it. @returns whether we took the lock in time */
async function pollLock(lock: Fd, path: string, wait: BlockingWait): Promise<boolean> {
  for (let pauseMs = FIRST_PAUSE_MS; !tryLock(lock, path); pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    if (wait.isOver()) return false;
    await wait.pause(pauseMs);
  }
  return true;
}
