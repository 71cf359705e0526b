/** Waiting in the kernel: even a mostly idle event loop takes processor time from the process whose turn it is. */

import type { Clock } from "../../lib/ports.ts";
import { POLLIN } from "../constants.ts";
import type { Fd } from "../fd.ts";
import { libc } from "../libc.ts";

/** How long the process blocks before its event loop has a turn, in milliseconds: at first, and at most. */
const FIRST_SLICE_MS = 4;
const LONGEST_SLICE_MS = 5_000;
/** Each is so many times as long as the one before. */
const SLICE_GROWTH = 4;

/** As `TurnOptions` has them. */
interface WaitOptions {
  readonly stallMs: number;
  readonly maxMs: number;
  readonly clock: Pick<Clock, "monotonic" | "sleep">;
}

/** Lets the event loop run from time to time: soon at first, because answers may be on their way. */
export class BlockingWait {
  readonly #stallMs: number;
  readonly #clock: WaitOptions["clock"];
  /** When all waiting ends, by the clock. */
  readonly #latestEnd: number;
  /** When it ends if the queue does not move. */
  #end: number;
  #before: number | undefined;
  #sliceMs = FIRST_SLICE_MS;
  #sliceEnd: number;

  /** @param before how many are before us */
  constructor({ stallMs, maxMs, clock }: WaitOptions, before: number | undefined) {
    const now = clock.monotonic();
    this.#stallMs = stallMs;
    this.#clock = clock;
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
      await this.#clock.sleep(0);
      this.#sliceMs = Math.min(SLICE_GROWTH * this.#sliceMs, LONGEST_SLICE_MS);
      this.#sliceEnd = this.#clock.monotonic() + this.#sliceMs;
    }
    return false;
  }
}
