/**
 * A place in the queue: a named pipe, which its process holds open for writing. The pipe's name is the time since boot, which nobody can set.
 * A process that reads from the pipe learns when the pipe's process leaves the queue or dies. The pipe gets its name only once it is held open:
 * before that, others would take its process for dead.
 */

import { CLOCK_MONOTONIC, O_NONBLOCK, O_RDONLY, O_RDWR } from "../constants.ts";
import { EAGAIN, EEXIST, ENOENT } from "../errno.ts";
import type { Fd } from "../fd.ts";
import { openFile } from "../files.ts";
import { listFolder, makeFolders } from "../folders.ts";
import { check, KernelError } from "../kernel-error.ts";
import { lastErrno, libc, rareLibc, toCString } from "../libc.ts";

const PLACE_MODE = 0o600;
/** Begins the name of a pipe that is not held open yet. It sorts after all places, whose names begin with a digit, so nobody waits for it. */
const UNHELD = "new-";
/** Written to the pipe of a process that had its turn before others in front of it. */
const PASSING = new Uint8Array(1);

let placesTaken = 0;

/** @returns undefined when there can be no queue: then each process polls the lock */
export function takePlace(folder: string): Place | undefined {
  try {
    for (;;) {
      const name = `${readTime()}-${process.pid}-${String(placesTaken++).padStart(6, "0")}`;
      const held = holdNew(folder, name);
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

/** @returns undefined when the first in the queue has taken us for dead, see {@link clearUnheld}: then we try again */
function holdNew(folder: string, name: string): Fd | undefined {
  const unheld = `${folder}/${UNHELD}${name}`;
  makePipe(unheld, folder);
  using undo = new DisposableStack();
  undo.defer(() => rareLibc().unlink(toCString(unheld)));
  const held = openFile(unheld, O_RDWR | O_NONBLOCK);
  if (held === undefined) return undefined;
  undo.use(held);
  if (!rename(unheld, `${folder}/${name}`)) return undefined;
  undo.move();
  return held;
}

/** @returns whether there was something to rename */
function rename(from: string, to: string): boolean {
  if (rareLibc().rename(toCString(from), toCString(to)) === 0) return true;
  const errno = lastErrno();
  if (errno === ENOENT) return false;
  throw new KernelError({ operation: "rename", object: from, errno, kind: "ioFailure" });
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

/** A place in the queue. */
export class Place implements Disposable {
  readonly name: string;
  readonly #folder: string;
  readonly #held: Fd;
  #isPassing = false;

  constructor(folder: string, name: string, held: Fd) {
    this.#folder = folder;
    this.name = name;
    this.#held = held;
  }

  /** Notes that we had our turn before others who are before us. */
  pass(): void {
    this.#isPassing = true;
  }

  /** Leaves the queue, which wakes the next process. */
  [Symbol.dispose](): void {
    rareLibc().unlink(toCString(`${this.#folder}/${this.name}`));
    if (this.#isPassing) libc().write(this.#held.number, PASSING, PASSING.length);
    this.#held[Symbol.dispose]();
  }

  /** The pipe of the nearest living process before us; undefined also when none can be opened (`EMFILE`). */
  findBefore(): Fd | undefined {
    for (const pipe of this.#livingBefore()) return pipe;
    return undefined;
  }

  /** How many are before us, including any that died a moment ago. */
  countPlaces(): number {
    return this.#namesBefore().length;
  }

  /** How many of those before us are alive. */
  countLiving(): number {
    let count = 0;
    for (const pipe of this.#livingBefore()) {
      pipe[Symbol.dispose]();
      count++;
    }
    return count;
  }

  #namesBefore(): string[] {
    return (listFolder(this.#folder) ?? []).filter((other) => other < this.name);
  }

  /** The pipes of living processes before us, the nearest first, for the caller to close; those of dead ones are removed. */
  *#livingBefore(): Generator<Fd> {
    try {
      for (const name of this.#namesBefore().sort().reverse()) {
        const pipe = openLiving(`${this.#folder}/${name}`);
        if (pipe !== undefined) yield pipe;
      }
      clearUnheld(this.#folder);
    } catch (thrown) {
      if (!(thrown instanceof KernelError)) throw thrown;
    }
  }
}

/** @returns undefined when there is none, or nobody holds it open: then it is removed */
function openLiving(path: string): Fd | undefined {
  const pipe = openFile(path, O_RDONLY | O_NONBLOCK);
  if (pipe === undefined || isHeld(pipe)) return pipe;
  pipe[Symbol.dispose]();
  rareLibc().unlink(toCString(path));
  return undefined;
}

/** Removes what is left of processes that died before they held their place open. One that is about to do so tries again. */
function clearUnheld(folder: string): void {
  for (const name of listFolder(folder) ?? []) if (name.startsWith(UNHELD)) openLiving(`${folder}/${name}`)?.[Symbol.dispose]();
}

/** Whether a living process has this place in the queue. */
export function isPlaceTaken(folder: string, name: string): boolean {
  using pipe = openFile(`${folder}/${name}`, O_RDONLY | O_NONBLOCK);
  return pipe !== undefined && isHeld(pipe);
}

/** A pipe that nobody holds open for writing is at its end. */
function isHeld(pipe: Fd): boolean {
  return libc().read(pipe.number, new Uint8Array(1), 1) < 0 && lastErrno() === EAGAIN;
}

/** Whether the process that left this pipe passed others, which may never take their turn. */
export function saysPassing(pipe: Fd): boolean {
  return libc().read(pipe.number, new Uint8Array(PASSING.length), PASSING.length) > 0;
}
