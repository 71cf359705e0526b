/**
 * Turns among the processes of a host, in the order in which they came.
 *
 * Who has the turn has a lock (`flock.ts`). Who must wait stands in line: a named pipe in a folder beside the lock, named after the time and held open
 * for writing as long as its process is there. It reads from the pipe before its own, which ends when the other leaves the line or dies, and then
 * nobody else is woken. The first in line alone looks at the lock again and again. So a hundred that wait cost no more than one.
 */

import type { Clock } from "../lib/ports.ts";
import { EAGAIN, EEXIST, ENOENT } from "./errno.ts";
import type { Fd } from "./fd.ts";
import { openFile } from "./files.ts";
import { type LockOptions, takeLock } from "./flock.ts";
import { listFolder, makeFolders } from "./folders.ts";
import { KernelError } from "./kernel-error.ts";
import { lastErrno, libc, rareLibc, toCString } from "./libc.ts";
import { O_NONBLOCK, O_RDONLY, O_RDWR } from "./open-flags.ts";

export interface TurnOptions extends LockOptions {
  readonly clock: LockOptions["clock"] & Pick<Clock, "now">;
}

const PLACE_MODE = 0o600;
const POLLIN = 1;

/** How long the process stands still before it looks what else there is to do, in milliseconds: at first, and at most. */
const FIRST_SLICE_MS = 4;
const LONGEST_SLICE_MS = 50;

/** How often who is not the first looks at the lock all the same, in milliseconds: somebody before may have been stopped, and never leave the line. */
const LOOK_EVERY_MS = 1_000;

let placesTaken = 0;

/**
 * Takes the lock on a file as {@link takeLock} does, behind those who wait for it already. With `waitMs` 0 nobody is waited for: who finds the lock free
 * has it, also before the first in line has seen that. For processes that have nothing else to do: each wait blocks the event loop for up to 50 ms at
 * a time.
 *
 * @returns undefined when the time is over
 * @throws {KernelError} ioFailure when the file cannot be made or locked
 */
export async function takeTurn(path: string, options: TurnOptions): Promise<Disposable | undefined> {
  const { waitMs, clock } = options;
  if (waitMs <= 0) return await takeLock(path, options);
  const end = clock.monotonic() + waitMs;
  using place = stand(`${path}.line`, clock);
  const found = await place?.untilFirst(path, end, options);
  return found ?? (await takeLock(path, { ...options, waitMs: Math.max(0, end - clock.monotonic()) }));
}

/** @returns undefined where no line can be made: then everybody looks at the lock by himself */
function stand(folder: string, clock: TurnOptions["clock"]): Place | undefined {
  try {
    for (;;) {
      const [time, number] = [String(clock.now()).padStart(16, "0"), String(placesTaken++).padStart(6, "0")];
      const name = `${time}-${process.pid}-${number}`;
      makePipe(`${folder}/${name}`, folder);
      const held = openPlace(`${folder}/${name}`);
      if (held !== undefined) return new Place(folder, name, held);
    }
  } catch (thrown) {
    if (thrown instanceof KernelError) return undefined;
    throw thrown;
  }
}

/**
 * Whoever looks at the pipe before it is open takes us for dead and takes it away. Then this is undefined; or, when that comes a moment later, our place
 * is one that nobody sees, and two may be the first: of them one gets the lock.
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

  /**
   * Waits until nobody is before us, nobody can be seen, or the time is over.
   *
   * @returns the lock, when it was found free meanwhile
   * @throws the signal's reason
   */
  async untilFirst(path: string, end: number, options: TurnOptions): Promise<Disposable | undefined> {
    const { clock, signal } = options;
    let lookAt = clock.monotonic() + LOOK_EVERY_MS;
    for (let before = this.#findBefore(); before !== undefined; before = this.#findBefore()) {
      using pipe = before;
      for (let sliceMs = FIRST_SLICE_MS; ; sliceMs = Math.min(2 * sliceMs, LONGEST_SLICE_MS)) {
        const leftMs = end - clock.monotonic();
        if (leftMs <= 0) return undefined;
        if (hasEnded(pipe, Math.min(sliceMs, leftMs))) break;
        await clock.sleep(0, signal);
        if (clock.monotonic() < lookAt) continue;
        const lock = await takeLock(path, { ...options, waitMs: 0 });
        if (lock !== undefined) return lock;
        lookAt += LOOK_EVERY_MS;
      }
    }
    return undefined;
  }

  /** Leaves the line: the next one is told. */
  [Symbol.dispose](): void {
    rareLibc().unlink(toCString(`${this.#folder}/${this.#name}`));
    this.#held[Symbol.dispose]();
  }

  /** The pipe of the nearest before us who is alive; those of the dead are taken away. Undefined also where there is no looking (`EMFILE`). */
  #findBefore(): Fd | undefined {
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

function hasEnded(pipe: Fd, waitMs: number): boolean {
  const request = new Int32Array([pipe.number, POLLIN]);
  return libc().poll(request, 1n, Math.ceil(waitMs)) > 0;
}
