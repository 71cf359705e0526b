/** Everything outside the process that a CNI verb touches, handed in as one value. */

import type { DatastoreConfig } from "../datastore/config/datastore-config.ts";
import type { Datastore } from "../datastore/datastore.ts";
import type { KubeSettings } from "../kube/access/access.ts";
import type { KubeClient } from "../kube/client.ts";
import type { KubeOptions } from "../kube/requests/requester.ts";
import type { Deadline } from "../lib/deadline.ts";
import type { Log } from "../lib/log/log.ts";
import type { Clock, Files, Processes, Random } from "../lib/ports.ts";
import type { TurnOptions } from "../linux/turns/queue.ts";
import type { Turn } from "../linux/turns/turn.ts";
import type { LogConfig } from "./config/network-config.ts";
import type { Kernel } from "./link/kernel.ts";

/** `real-host.ts` has the real one; tests of faults wrap single members of it. */
export interface Host {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly random: Random;
  readonly files: Files;
  readonly processes: Processes;
  readonly kernel: Kernel;
  /** One GET that follows redirects, uses no proxy whatever the environment says, and reads no body. */
  readonly fetch: (url: string, signal: AbortSignal) => Promise<{ readonly status: number }>;
  /**
   * Calls back after every change inside a folder.
   *
   * @returns undefined when the folder is not there
   * @throws Error when it cannot be watched
   */
  readonly watchDirectory: (folder: string, onChange: () => void) => Promise<Disposable | undefined> | Disposable | undefined;
  /** The whole of stdin. @throws {TypeError} it is no UTF-8 */
  readStdin(): string | Promise<string>;
  /**
   * Gives the caller its answer, on stdout.
   *
   * @param remainingMs how long a caller that does not read may be waited for, at most
   * @throws {KernelError} ioFailure
   */
  writeAnswer(text: string, remainingMs?: Deadline["remainingMs"]): void;
  hostName(): string;
  /** Milliseconds since the machine was started: the same for all processes, and nobody sets it. */
  sinceBoot(): number;
  readonly processId: number;
  /** Number of the process that called this one, as it began; another one adopts it when that ends. */
  readonly callerId: number;
  /** When this process began, in milliseconds of `clock.monotonic()`: an estimate, for measuring. */
  processStart(): number;
  /**
   * The same on the clock of `sinceBoot()`, to 10 ms; undefined when the kernel does not say. Slower, but right even if the process was
   * stopped meanwhile. Call it before this process starts another.
   */
  processStartSinceBoot(): number | undefined;
  /** Takes the advisory lock on a file, first come first served, waiting at most `waitMs`; undefined when the time is over. */
  takeLock(path: string, waitMs: number): Promise<Disposable | undefined>;
  /** Waits for a turn among the calls of the node: see `linux/turns/`. */
  takeTurn(path: string, options: Omit<TurnOptions, "clock">): Promise<Turn | "served" | undefined>;
  /** How often those who had their turns did work for others: see `linux/turns/`. @throws {NetplugError} ioFailure */
  countWork(path: string): number;
  /** @param openKube gives the client of a datastore on the Kubernetes API; absent: it makes one of its own */
  openDatastore(config: DatastoreConfig, openKube?: () => Promise<KubeClient>): Datastore;
  /** A client of the Kubernetes API, which is loaded by the first who wants one. */
  openKube(settings: KubeSettings, options: KubeOptions): Promise<KubeClient>;
  openLog(config: LogConfig, fields: Readonly<Record<string, string>>): Log;
}
