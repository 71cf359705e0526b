/** What the outside world looks like to code that must also run under test and in simulation. */

import type { Address } from "./ip/address.ts";

/** Time: handed in, so that tests decide what it is. */
export interface Clock {
  /** Milliseconds since 1970, UTC. */
  now(): number;
  /** Milliseconds that never go back, from an arbitrary start. */
  monotonic(): number;
  /** Resolves after `ms`; rejects with the signal's reason when it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** A number from 0 (inclusive) to 1 (exclusive). */
export type Random = () => number;

/** Synchronous file access: a CNI plugin reads a handful of small files and must not wait for a thread pool. */
export interface Files {
  /** @returns undefined when there is no such file @throws NetplugError ioFailure for anything else */
  readText(path: string): string | undefined;
  exists(path: string): boolean;
  isExecutableFile(path: string): boolean;
  /** Creates missing folders (0755), writes beside the target and renames. */
  writeAtomically(path: string, content: string, mode: number): void;
  /** Writes to the end of a file, and nothing where there is none. @throws NetplugError ioFailure */
  append(path: string, text: string): void;
  /** @returns whether there was something to remove */
  remove(path: string): boolean;
  /** Names in a folder, unsorted; undefined when there is no such folder. */
  list(path: string): readonly string[] | undefined;
}

/** A connection that is waited for in slices: between them the caller can do something else. */
export interface ByteStream extends Disposable {
  /** @returns how many bytes were taken, waiting at most `waitMs` for the first @throws NetplugError ioFailure when it is broken */
  write(bytes: Uint8Array, waitMs: number): number;
  /**
   * @returns what came, waiting at most `waitMs`; undefined: nothing yet; empty: the other side ended it
   *
   * @throws NetplugError ioFailure when it is broken
   */
  read(waitMs: number): Uint8Array | undefined;
}

/** Begins a connection to an address; failures show when it is used. @throws NetplugError ioFailure */
export type Connect = (address: Address, port: number) => ByteStream;

/** How a process ended, and what it said. */
export interface ProcessResult {
  /** Exit status, or 128 + signal number. */
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A process to be started; nothing of it goes through a shell. */
export interface ProcessRequest {
  /** Absolute path; never a shell. */
  readonly command: string;
  readonly args?: readonly string[];
  /** The whole environment of the child. */
  readonly env: Readonly<Record<string, string>>;
  readonly stdin?: string;
  readonly timeoutMs: number;
}

/** Other programs: delegates, and those that a kubeconfig names. */
export interface Processes {
  /** @throws NetplugError ioFailure when it cannot be started, tryAgainLater when it was ended after `timeoutMs` */
  run(request: ProcessRequest): Promise<ProcessResult>;
}
