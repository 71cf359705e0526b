/** How a process in the queue finds out that those before it never take their turns. */

import type { Fd } from "../fd.ts";
import { tryLock, unlock } from "../flock.ts";

/** A free lock that the processes before us do not take, perhaps because they are stopped. */
export class IdleLock {
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
