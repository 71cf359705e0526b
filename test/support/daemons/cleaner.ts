/** Undoing what a cluster put on the machine, by a process of its own, so that it happens however the one that made it ends. */

import { join } from "node:path";

/** What can be undone; the last recorded goes first. */
export type CleanupStep =
  /** Ends a process and waits for its end. The start time tells it from a later one of the same number. */
  | { readonly process: number; readonly startTime: string }
  /** A program that may fail: what it removes can be gone already. */
  | { readonly run: readonly string[] }
  /** The folder of a cgroup, with all inside. */
  | { readonly cgroup: string }
  | { readonly folder: string };

/**
 * Remembers steps in `janitor.ts`, which takes them when its input ends: on {@link Cleaner.clean}, and as well when this
 * process is killed.
 */
export class Cleaner {
  readonly #janitor: Bun.Subprocess<"pipe", "ignore", "pipe">;

  constructor() {
    // detached: an interrupt at the terminal must not reach it
    this.#janitor = Bun.spawn(["setsid", process.execPath, join(import.meta.dir, "janitor.ts")], {
      stdin: "pipe",
      stdout: "ignore",
      stderr: "pipe",
    });
  }

  /** Of the janitor, which ends when it has done its work. */
  get pid(): number {
    return this.#janitor.pid;
  }

  /** Called before the thing is made where that can be, so that there is no moment at which it would be left. */
  async add(step: CleanupStep): Promise<void> {
    await this.#janitor.stdin.write(`${JSON.stringify(step)}\n`);
    await this.#janitor.stdin.flush();
  }

  /** @throws Error naming what could not be removed */
  async clean(): Promise<void> {
    await this.#janitor.stdin.end();
    const [status, complaints] = await Promise.all([this.#janitor.exited, this.#janitor.stderr.text()]);
    if (status !== 0) throw new Error(`clean up after the cluster: ${complaints.trim() || `status ${status}`}`);
  }
}
