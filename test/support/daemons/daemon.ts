/** One long-running program of a cluster. */

import { closeSync, openSync, readFileSync } from "node:fs";
import { standStill } from "../programs/stand-still.ts";
import type { Cleaner } from "./cleaner.ts";
import { startTimeOf } from "./process-status.ts";

export interface DaemonOptions {
  /** For messages. */
  readonly name: string;
  /** May be empty where `place` is the program. */
  readonly command: readonly string[];
  /** Gets what it writes; a restart appends. */
  readonly logFile: string;
  readonly cleaner: Cleaner;
  /** Looked at until it says true; what it throws means "not yet". It must give up when the signal says so. */
  readonly isReady: (signal: AbortSignal) => boolean | Promise<boolean>;
  /**
   * Command that starts it in another place, such as `nsenter …`. One that stays and waits for it has the program as its only
   * child; the kernel ends the program when that one ends.
   */
  readonly place?: readonly string[] | (() => readonly string[]);
  /** @default none besides `PATH` */
  readonly env?: Readonly<Record<string, string>>;
}

const POLL_MS = 25;
const LOOK_LIMIT_MS = 5_000;
const START_LIMIT_MS = 150_000;

/** Can be stopped, paused and started again, for tests of what others do meanwhile. */
export class Daemon {
  readonly name: string;
  readonly logFile: string;
  readonly #options: DaemonOptions;
  #running: Bun.Subprocess | undefined;

  constructor(options: DaemonOptions) {
    this.name = options.name;
    this.logFile = options.logFile;
    this.#options = options;
  }

  /** Of the running program. */
  get pid(): number | undefined {
    const pid = this.#running?.pid;
    if (pid === undefined || this.#options.place === undefined) return pid;
    return onlyChildOf(pid) ?? pid;
  }

  /** Starts it and waits until it is ready. @throws Error with its last words */
  async start(): Promise<void> {
    await this.launch();
    await this.untilReady();
  }

  /** Starts it; it may not serve yet. */
  async launch(): Promise<void> {
    const { command, logFile, cleaner, env } = this.#options;
    const place = typeof this.#options.place === "function" ? this.#options.place() : (this.#options.place ?? []);
    const tied = ["setpriv", "--pdeathsig", "KILL"];
    const log = openSync(logFile, "a");
    // detached, so that an interrupt at the terminal leaves it to us; the kernel ends it when this process ends
    const child = Bun.spawn(["setsid", ...tied, ...place, ...(place.length > 0 && command.length > 0 ? tied : []), ...command], {
      stdin: "ignore",
      stdout: log,
      stderr: log,
      env: { PATH: process.env["PATH"] ?? "", ...env },
    });
    closeSync(log);
    this.#running = child;
    const startTime = startTimeOf(child.pid);
    if (startTime !== undefined) await cleaner.add({ process: child.pid, startTime });
  }

  /** Waits until it is ready. @throws Error with its last words when it ends before, or takes too long */
  async untilReady(): Promise<void> {
    let reason = "";
    for (const end = performance.now() + START_LIMIT_MS; performance.now() < end; await Bun.sleep(POLL_MS)) {
      if (this.#running === undefined || this.#running.exitCode !== null || this.#running.signalCode !== null)
        throw new Error(`start ${this.name}: it ended; its last words:\n${this.log()}`);
      try {
        if (await this.#options.isReady(AbortSignal.timeout(LOOK_LIMIT_MS))) return;
        reason = "not ready";
      } catch (thrown) {
        reason = String(thrown);
      }
    }
    throw new Error(`start ${this.name}: ${reason} after ${START_LIMIT_MS} ms; its last words:\n${this.log()}`);
  }

  /** Ends it: at once as a power cut does, or with `SIGTERM` as it ends itself. */
  async stop(signal: "SIGKILL" | "SIGTERM" = "SIGKILL"): Promise<void> {
    const child = this.#running;
    this.#signal(signal);
    this.#running = undefined;
    await child?.exited;
  }

  /** Stops its time: connections stay, nothing is answered. */
  async pause(): Promise<void> {
    const { pid } = this;
    if (pid !== undefined) await standStill(pid);
  }

  resume(): void {
    // what started it in another place stops with it
    this.#running?.kill("SIGCONT");
    this.#signal("SIGCONT");
  }

  #signal(signal: NodeJS.Signals): void {
    const pid = this.pid;
    try {
      if (pid !== undefined) process.kill(pid, signal);
    } catch {
      // it ended by itself
    }
  }

  /** The last lines that it wrote. */
  log(lines = 25): string {
    return readFileSync(this.logFile, "utf8").trimEnd().split("\n").slice(-lines).join("\n");
  }
}

/** Of the process that started the program in another place and waits for it; undefined when it became the program itself. */
function onlyChildOf(pid: number): number | undefined {
  try {
    const child = Number.parseInt(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8"), 10);
    return Number.isNaN(child) ? undefined : child;
  } catch {
    return undefined;
  }
}
