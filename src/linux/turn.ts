/**
 * Turns among the processes of a host, in the order in which they came.
 *
 * Who has the turn has a lock (`flock.ts`). Who must wait stands in line: a named pipe in a folder beside the lock, named after the time
 * since the host was started, which nobody sets, and held open for writing until its turn is over, or its process. It reads from the pipe
 * before its own, which ends when the other leaves the line or dies, and then nobody else is woken. Only who has nobody before him, for the
 * lock was free when its holder came, looks at the lock again and again.
 *
 * Those who wait stand still, in the kernel: a runtime whose event loop turns, if only now and then, takes the processor from the one whose
 * turn it is.
 */

import { CLOCK_MONOTONIC, O_NONBLOCK, O_RDONLY, O_RDWR, POLLIN } from "./constants.ts";
import { EAGAIN, EEXIST, ENOENT } from "./errno.ts";
import type { Fd } from "./fd.ts";
import { openFile } from "./files.ts";
import { type LockOptions, openLock, takeLock, tryLock } from "./flock.ts";
import { listFolder, makeFolders } from "./folders.ts";
import { check, KernelError } from "./kernel-error.ts";
import { lastErrno, libc, rareLibc, toCString } from "./libc.ts";

const PLACE_MODE = 0o600;

/** How long the process stands still before it looks what else there is to do, in milliseconds: at first, and at most. */
const FIRST_SLICE_MS = 4;
const LONGEST_SLICE_MS = 5_000;
/** Each is so many times as long as the one before. */
const SLICE_GROWTH = 4;

/**
 * How often who is not the first looks at the lock all the same, in milliseconds: somebody before may have been stopped, and never leave
 * the line.
 */
const LOOK_EVERY_MS = 1_000;
/** How soon who was woken looks, and somebody is before him still: later than that one, if he can. */
const AFTER_WAKING_MS = 20;

/** Milliseconds between looks of who is the first: at the beginning as short as an ADD's critical part. */
const FIRST_PAUSE_MS = 1;
const LONGEST_PAUSE_MS = 8;

let placesTaken = 0;

/**
 * Takes the lock on a file as {@link takeLock} does, behind those who wait for it already. With `waitMs` 0 nobody is waited for: who finds
 * the lock free has it, also before the first in line has seen that. For processes that have nothing else to do: each wait blocks the event
 * loop for up to five seconds at a time.
 *
 * @returns undefined when the time is over
 * @throws {KernelError} ioFailure when the file cannot be made or locked
 * @throws the signal's reason
 */
export async function takeTurn(path: string, options: LockOptions): Promise<Disposable | undefined> {
  if (options.waitMs <= 0) return await takeLock(path, options);
  using held = new DisposableStack();
  // Disposed of in the opposite order: who is woken by the end of the place finds the lock free.
  const place = held.use(stand(`${path}.line`));
  const lock = held.use(openLock(path));
  return (await waitFor(lock, path, place, options)) ? held.move() : undefined;
}

/** @returns whether the lock was had before the time was over */
async function waitFor(lock: Fd, path: string, place: Place | undefined, { waitMs, clock, signal }: LockOptions): Promise<boolean> {
  const end = clock.monotonic() + waitMs;
  const patience = new Patience(end, clock, signal);
  let firstLookMs = LOOK_EVERY_MS;
  for (let before = place?.findBefore(); before !== undefined; before = place?.findBefore()) {
    using pipe = before;
    for (let lookAt = clock.monotonic() + firstLookMs; !(await patience.untilEnded(pipe, lookAt)); lookAt += LOOK_EVERY_MS) {
      if (tryLock(lock, path)) return true;
      if (clock.monotonic() >= end) return false;
    }
    // Who has left may have had the turn past one who is stopped: not each one behind need find that out, after a second of his own.
    firstLookMs = AFTER_WAKING_MS;
  }
  for (let pauseMs = FIRST_PAUSE_MS; !tryLock(lock, path); pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    if (clock.monotonic() >= end) return false;
    await patience.pause(pauseMs);
  }
  return true;
}

/** Stands still, and lets the event loop have its turn from time to time: at first soon, for answers may be under way. */
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

/** @returns undefined where no line can be made: then everybody looks at the lock by himself */
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
 * Whoever looks at the pipe before it is open takes us for dead and takes it away. Then this is undefined; or, when that comes a moment
 * later, our place is one that nobody sees, and two may be the first: of them one gets the lock.
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

  constructor(folder: string, name: string, held: Fd) {
    this.#folder = folder;
    this.#name = name;
    this.#held = held;
  }

  /** Leaves the line: the next one is told. */
  [Symbol.dispose](): void {
    rareLibc().unlink(toCString(`${this.#folder}/${this.#name}`));
    this.#held[Symbol.dispose]();
  }

  /**
   * The pipe of the nearest before us who is alive; those of the dead are taken away. Undefined also where there is no looking (`EMFILE`).
   */
  findBefore(): Fd | undefined {
    try {
      const names = listFolder(this.#folder) ?? [];
      for (const name of names
        .filter((other) => other < this.#name)
        .sort()
        .reverse()) {
        const path = `${this.#folder}/${name}`;
        const pipe = openFile(path, O_RDONLY | O_NONBLOCK);
        if (pipe === undefined) continue;
        if (isHeld(pipe)) return pipe;
        pipe[Symbol.dispose]();
        rareLibc().unlink(toCString(path));
      }
      return undefined;
    } catch (thrown) {
      if (thrown instanceof KernelError) return undefined;
      throw thrown;
    }
  }
}

/** A pipe that nobody holds open for writing is at its end. */
function isHeld(pipe: Fd): boolean {
  return libc().read(pipe.number, new Uint8Array(1), 1) < 0 && lastErrno() === EAGAIN;
}
