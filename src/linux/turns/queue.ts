/**
 * The queue of those who wait for a turn: see `turn.ts`, which loads this only for them.
 *
 * The process whose turn it is holds a lock (`flock.ts`). A process that must wait has a place in the queue (`place.ts`) until its turn, or the
 * process, ends. It reads from the place before its own: that read ends when the process before it leaves the queue or dies, and wakes no other
 * process. Only the first in the queue polls the lock, whose holder may have no place in the queue (`stallMs` 0).
 *
 * A process in the queue may be stopped, and never take its turn. So the others look at the lock now and then. A process that finds the lock
 * free as many times in a row as there are processes before it passes them, and tells the one behind it, which then need not find out itself.
 *
 * Nobody waits for a queue that stands still: the process whose turn it is may be stopped, too. While the queue moves, leaving it would only
 * bring back the races that it prevents.
 *
 * A waiting process blocks in the kernel: even a mostly idle event loop takes processor time from the process whose turn it is.
 */

import type { Clock } from "../../lib/ports.ts";
import { POLLIN } from "../constants.ts";
import type { Fd } from "../fd.ts";
import { openLock, tryLock, unlock } from "../flock.ts";
import { libc } from "../libc.ts";
import { queueOf } from "./queue-files.ts";
import { type PostedRequest, postRequest } from "./queued-requests.ts";
import { type Place, saysPassing, takePlace } from "./place.ts";

/** How long the process blocks before its event loop has a turn, in milliseconds: at first, and at most. */
const FIRST_SLICE_MS = 4;
const LONGEST_SLICE_MS = 5_000;
/** Each is so many times as long as the one before. */
const SLICE_GROWTH = 4;

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
  readonly signal?: AbortSignal | undefined;
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
  { stallMs, maxMs = stallMs, clock, signal }: TurnOptions,
): Promise<"locked" | "served" | undefined> {
  const wait = new BlockingWait({ stallMs, maxMs, clock, signal }, place?.countPlaces());
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

/** A free lock that the processes before us do not take, perhaps because they are stopped. */
class IdleLock {
  readonly #lock: Fd;
  readonly #path: string;
  #others = 0;
  #looks = 0;

  constructor(lock: Fd, path: string) {
    this.#lock = lock;
    this.#path = path;
  }

  /** @returns whether we took it: it was free at as many looks in a row as there are others before us, while their number did not fall */
  take(countOthers: () => number): boolean {
    if (!this.#isFree()) {
      this.#looks = 0;
      return false;
    }
    const others = countOthers();
    this.#looks = others === this.#others ? this.#looks + 1 : 1;
    this.#others = others;
    if (this.#looks < others) return false;
    if (tryLock(this.#lock, this.#path)) return true;
    this.#looks = 0;
    return false;
  }

  /** Holds the lock as briefly as possible: to another process that looks meanwhile it seems busy. */
  #isFree(): boolean {
    if (!tryLock(this.#lock, this.#path)) return false;
    unlock(this.#lock);
    return true;
  }
}

/** Blocks, and lets the event loop run from time to time: soon at first, because answers may be on their way. */
class BlockingWait {
  readonly #stallMs: number;
  readonly #clock: TurnOptions["clock"];
  readonly #signal: AbortSignal | undefined;
  /** When all waiting ends, by the clock. */
  readonly #latestEnd: number;
  /** When it ends if the queue does not move. */
  #end: number;
  #before: number | undefined;
  #sliceMs = FIRST_SLICE_MS;
  #sliceEnd: number;

  /** @param before how many are before us */
  constructor({ stallMs, maxMs, clock, signal }: TurnOptions & { readonly maxMs: number }, before: number | undefined) {
    const now = clock.monotonic();
    this.#stallMs = stallMs;
    this.#clock = clock;
    this.#signal = signal;
    this.#latestEnd = now + maxMs;
    this.#end = Math.min(now + stallMs, this.#latestEnd);
    this.#before = before;
    this.#sliceEnd = now + this.#sliceMs;
  }

  /** @param before how many are before us by now: the queue moves when they become fewer */
  look(before: number): void {
    if (before !== this.#before) this.#end = Math.min(this.#clock.monotonic() + this.#stallMs, this.#latestEnd);
    this.#before = before;
  }

  isOver(): boolean {
    return this.#clock.monotonic() >= this.#end;
  }

  /** @returns whether the pipe has ended by then */
  async untilEnded(pipe: Fd, until: number): Promise<boolean> {
    const request = new Int32Array([pipe.number, POLLIN]);
    for (;;) {
      const leftMs = Math.min(until, this.#end) - this.#clock.monotonic();
      if (leftMs <= 0) return false;
      if (await this.#poll(request, leftMs)) return true;
    }
  }

  async pause(ms: number): Promise<void> {
    await this.#poll(new Int32Array(0), ms);
  }

  /** @param request of poll(2), one or none @returns whether something has happened to it; what may be earlier than after `ms` */
  async #poll(request: Int32Array, ms: number): Promise<boolean> {
    const sliceMs = Math.min(ms, Math.max(0, this.#sliceEnd - this.#clock.monotonic()));
    if (libc().poll(request, BigInt(request.length / 2), Math.ceil(sliceMs)) > 0) return true;
    if (this.#clock.monotonic() >= this.#sliceEnd) {
      await this.#clock.sleep(0, this.#signal);
      this.#sliceMs = Math.min(SLICE_GROWTH * this.#sliceMs, LONGEST_SLICE_MS);
      this.#sliceEnd = this.#clock.monotonic() + this.#sliceMs;
    }
    return false;
  }
}
