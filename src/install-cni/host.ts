/** Everything outside the process that an installation touches, handed in as one value. */

import type { Log, LogLevel } from "../lib/log/log.ts";
import type { Clock, Files, Processes, Random } from "../lib/ports.ts";
import type { DurableFiles } from "./files/durable-files.ts";

/** `program.ts` has the real one; tests replace single members of it. */
export interface InstallHost {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The user to whom the files that we make belong. */
  readonly userId: number;
  /** A path of the executable that runs. */
  readonly executable: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly disk: DurableFiles;
  /** For credentials of our own. */
  readonly files: Files;
  readonly processes: Processes;
  /** Where a pod's own credentials are. @default where kubelet mounts them */
  readonly serviceAccountFolder?: string;
  /** Aborts when the process is asked to end. */
  readonly stopped: AbortSignal;
  hostName(): string;
  openLog(level: LogLevel): Log;
  /** Writes to standard error, for people. */
  say(text: string): void;
}
