/**
 * Turns among the processes of a host, in the order in which they came.
 *
 * The process whose turn it is holds a lock (`flock.ts`). A process that must wait has a place in a line: a named pipe in a folder beside the
 * lock. The pipe's name is the time since boot, which nobody can set, and the process holds it open for writing until its turn, or the
 * process, ends. It reads from the pipe before its own: that read ends when the process before it leaves the line or dies, and wakes no other
 * process. Only the first in line polls the lock, whose holder may have no place in the line (`waitMs` 0).
 *
 * A process in line may be stopped, and never take its turn. So the others look at the lock now and then. One that finds it free as many
 * times in a row as there are others before it passes them, and tells the one behind it, which then need not find out by itself.
 *
 * A waiting process blocks in the kernel: even a mostly idle event loop takes processor time from the process whose turn it is.
 */

import { CLOCK_MONOTONIC, O_NONBLOCK, O_RDONLY, O_RDWR, POLLIN } from "./constants.ts";
import { EAGAIN, EEXIST, ENOENT } from "./errno.ts";
import type { Fd } from "./fd.ts";
import { openFile } from "./files.ts";
import { type LockOptions, openLock, takeLock, tryLock, unlock } from "./flock.ts";
import { listFolder, makeFolders } from "./folders.ts";
import { check, KernelError } from "./kernel-error.ts";
import { lastErrno, libc, rareLibc, toCString } from "./libc.ts";

const PLACE_MODE = 0o600;
/** Written to the pipe of a process that had its turn before others in front of it. */
const PASSING = new Uint8Array(1);

/** How long the process blocks before its event loop has a turn, in milliseconds: at first, and at most. */
const FIRST_SLICE_MS = 4;
const LONGEST_SLICE_MS = 5_000;
/** Each is so many times as long as the one before. */
const SLICE_GROWTH = 4;

/** Milliseconds between looks at the lock by a process that is not the first in line. */
const LOOK_EVERY_MS = 1_000;
/** Milliseconds until a process looks that was told of passing: later than the passed ones, if those still run. */
const AFTER_PASSING_MS = 20;

/** Milliseconds between looks by the first in line: at first as short as an ADD's critical part. */
const FIRST_PAUSE_MS = 1;
const LONGEST_PAUSE_MS = 8;

let placesTaken = 0;

/**
 * Takes the lock on a file as {@link takeLock} does, after the processes that wait already. With `waitMs` 0 it takes a free lock at once, even
 * before the first in line has noticed. For processes that have nothing else to do: each wait blocks the event loop for up to five seconds
 * at a time.
 *
 * @returns undefined when the time is over
 * @throws {KernelError} ioFailure when the file cannot be made or locked
 * @throws the signal's reason
 */
export async function takeTurn(path: string, options: LockOptions): Promise<Disposable | undefined> {
  if (options.waitMs <= 0) return await takeLock(path, options);
  using held = new DisposableStack();
  // Disposed of in the opposite order: the lock is free before the end of our place wakes the next process.
  const place = held.use(stand(`${path}.line`));
  const lock = held.use(openLock(path));
  return (await waitFor(lock, path, place, options)) ? held.move() : undefined;
}

/** @returns whether we got the lock in time */
async function waitFor(lock: Fd, path: string, place: Place | undefined, { waitMs, clock, signal }: LockOptions): Promise<boolean> {
  const end = clock.monotonic() + waitMs;
  const patience = new Patience(end, clock, signal);
  const idle = new IdleLock(lock, path);
  let isPassing = false;
  for (;;) {
    using pipe = place?.findBefore();
    if (place === undefined || pipe === undefined) break;
    let lookAt = clock.monotonic() + (isPassing ? AFTER_PASSING_MS : LOOK_EVERY_MS);
    for (; !(await patience.untilEnded(pipe, lookAt)); lookAt += LOOK_EVERY_MS) {
      const isLast = clock.monotonic() >= end;
      if (idle.take(() => (isPassing || isLast ? 1 : place.countBefore()))) return place.pass();
      if (isLast) return false;
      isPassing = false;
    }
    isPassing = saysPassing(pipe);
  }
  for (let pauseMs = FIRST_PAUSE_MS; !tryLock(lock, path); pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    if (clock.monotonic() >= end) return false;
    await patience.pause(pauseMs);
  }
  return true;
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
    if (!tryLock(this.#lock, this.#path)) {
      this.#looks = 0;
      return false;
    }
    const others = countOthers();
    this.#looks = others === this.#others ? this.#looks + 1 : 1;
    this.#others = others;
    if (this.#looks >= others) return true;
    unlock(this.#lock);
    return false;
  }
}

/** Blocks, and lets the event loop run from time to time: soon at first, because answers may be under way. */
class Patience {
  readonly #end: number;
  readonly #clock: LockOptions["clock"];
  readonly #signal: AbortSignal | undefined;
  #sliceMs = FIRST_SLICE_MS;
  #sliceEnd: number;

  /** @param end of all waiting, by the clock */
  constructor(end: number, clock: LockOptions["clock"], signal: AbortSignal | undefined) {
    this.#end = end;
    this.#clock = clock;
    this.#signal = signal;
    this.#sliceEnd = clock.monotonic() + this.#sliceMs;
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

/** @returns undefined when there can be no line: then each process polls the lock */
function stand(folder: string): Place | undefined {
  try {
    for (;;) {
      const name = `${readTime()}-${process.pid}-${String(placesTaken++).padStart(6, "0")}`;
      makePipe(`${folder}/${name}`, folder);
      const held = openPlace(`${folder}/${name}`);
      if (held !== undefined) return new Place(folder, name, held);
    }
  } catch (thrown) {
    if (thrown instanceof KernelError) return undefined;
    throw thrown;
  }
}

/** Nanoseconds, the same for all processes, as a text that sorts like the number. */
function readTime(): string {
  const time = new Int32Array(4);
  check(libc().clock_gettime(CLOCK_MONOTONIC, time), "read", "clock");
  // `struct timespec`: two 64-bit words, whose upper halves are 0
  return String(time[0] ?? 0).padStart(10, "0") + String(time[2] ?? 0).padStart(9, "0");
}

/**
 * A process that looks at our pipe before we have opened it takes us for dead, and removes the pipe. Then this is undefined; or, if we open
 * the pipe just before, nobody sees our place, and two processes may be the first: one of them gets the lock.
 */
function openPlace(path: string): Fd | undefined {
  try {
    return openFile(path, O_RDWR | O_NONBLOCK);
  } catch (thrown) {
    rareLibc().unlink(toCString(path));
    throw thrown;
  }
}

function makePipe(path: string, folder: string): void {
  if (rareLibc().mkfifo(toCString(path), PLACE_MODE) === 0) return;
  let errno = lastErrno();
  if (errno === ENOENT) {
    makeFolders(folder);
    if (rareLibc().mkfifo(toCString(path), PLACE_MODE) === 0) return;
    errno = lastErrno();
  }
  if (errno !== EEXIST) throw new KernelError({ operation: "make pipe", object: path, errno, kind: "ioFailure" });
}

/** A place in line. */
class Place implements Disposable {
  readonly #folder: string;
  readonly #name: string;
  readonly #held: Fd;
  #isPassing = false;

  constructor(folder: string, name: string, held: Fd) {
    this.#folder = folder;
    this.#name = name;
    this.#held = held;
  }

  /** Notes that we had our turn before others who stand before us. @returns true */
  pass(): true {
    this.#isPassing = true;
    return true;
  }

  /** Leaves the line, which wakes the next process. */
  [Symbol.dispose](): void {
    rareLibc().unlink(toCString(`${this.#folder}/${this.#name}`));
    if (this.#isPassing) libc().write(this.#held.number, PASSING, PASSING.length);
    this.#held[Symbol.dispose]();
  }

  /** The pipe of the nearest living process before us; undefined also when none can be opened (`EMFILE`). */
  findBefore(): Fd | undefined {
    for (const pipe of this.#livingBefore()) return pipe;
    return undefined;
  }

  /** How many of those before us are alive. */
  countBefore(): number {
    let count = 0;
    for (const pipe of this.#livingBefore()) {
      pipe[Symbol.dispose]();
      count++;
    }
    return count;
  }

  /** The pipes of the living before us, the nearest first, for the caller to close; those of the dead are taken away. */
  *#livingBefore(): Generator<Fd> {
    try {
      const names = (listFolder(this.#folder) ?? []).filter((other) => other < this.#name);
      for (const name of names.sort().reverse()) {
        const path = `${this.#folder}/${name}`;
        const pipe = openFile(path, O_RDONLY | O_NONBLOCK);
        if (pipe === undefined) continue;
        if (isHeld(pipe)) {
          yield pipe;
          continue;
        }
        pipe[Symbol.dispose]();
        rareLibc().unlink(toCString(path));
      }
    } catch (thrown) {
      if (!(thrown instanceof KernelError)) throw thrown;
    }
  }
}

/** A pipe that nobody holds open for writing is at its end. */
function isHeld(pipe: Fd): boolean {
  return libc().read(pipe.number, new Uint8Array(1), 1) < 0 && lastErrno() === EAGAIN;
}

/** Whether the process that left this pipe passed others, which may never take their turn. */
function saysPassing(pipe: Fd): boolean {
  return libc().read(pipe.number, new Uint8Array(PASSING.length), PASSING.length) > 0;
}
