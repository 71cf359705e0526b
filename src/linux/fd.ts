/** File descriptors with an owner. */

import { libc } from "./libc.ts";

let openCount = 0;

/** An open file descriptor; closed once, by `using` or by hand. */
export class Fd implements Disposable {
  #number: number;

  /** @param number a descriptor that nobody else closes */
  constructor(number: number) {
    this.#number = number;
    openCount++;
  }

  /** How many are open in this process: a test that ends with more than it began with has found a leak. */
  static openCount(): number {
    return openCount;
  }

  /** @throws {Error} it was closed: the number may be another file's by now */
  get number(): number {
    if (this.#number < 0) throw new Error("use file descriptor: it is closed");
    return this.#number;
  }

  [Symbol.dispose](): void {
    if (this.#number < 0) return;
    libc().close(this.#number);
    this.#number = -1;
    openCount--;
  }
}
