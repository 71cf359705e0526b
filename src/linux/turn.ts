/** Turns among the processes of a host, in the order in which they came; and what those who wait ask of the one whose turn it is. */

import type { Clock } from "../lib/ports.ts";
import { linuxFiles } from "./files.ts";
import { takeLock } from "./flock.ts";
import { listFolder } from "./folders.ts";
import { readTimeSinceBoot } from "./process-start.ts";

export interface TurnOptions {
  /** How long to wait while the line stands still, in milliseconds. */
  readonly waitMs: number;
  /** How long to wait at most, in milliseconds. @default `waitMs` */
  readonly longestMs?: number | undefined;
  readonly clock: Pick<Clock, "monotonic" | "sleep">;
  readonly signal?: AbortSignal | undefined;
  /** Called when we have to wait: what somebody whose turn it is may do for us. */
  readonly request?: (() => string | undefined) | undefined;
}

/** A turn; over when it is disposed of. */
export interface Turn extends Disposable {
  /** Somebody has done what we asked for: there is no turn, and the lock is another's. */
  readonly isMet: boolean;
  /** The requests of those who wait; undefined: nobody does. */
  readonly line: LineRequests | undefined;
  /** Until when others may have worked for those in line, in milliseconds since the machine was started; undefined: nobody has. */
  readonly workUntil: number | undefined;
}

/** What those who wait want done. */
export interface LineRequests {
  /** Of the living, the first in line first. From now on until `tellMet()` work for them may be under way. */
  read(): readonly LineRequest[];
  /** Tells those who have what they want; the work for the others has come to nothing. */
  tellMet(requests: readonly LineRequest[]): void;
}

export interface LineRequest {
  /** The place of whoever wants it. */
  readonly place: string;
  readonly text: string;
}

/** Work for others of which no end is noted is over after this time: whoever did it is dead. */
const WORK_MS = 60_000;

/**
 * Takes the lock on a file as {@link takeLock} does, after the processes that wait already. With `waitMs` 0 it takes a free lock at once, even
 * before the first in line has noticed. For processes that have nothing else to do: each wait blocks the event loop for up to five seconds
 * at a time.
 *
 * @returns undefined when the time is over
 * @throws {KernelError} ioFailure when the file cannot be made or locked
 * @throws the signal's reason
 */
export async function takeTurn(path: string, options: TurnOptions): Promise<Turn | undefined> {
  const { waitMs, clock } = options;
  const lock = waitMs <= 0 ? await takeLock(path, { waitMs, clock }) : await (await import("./line.ts")).waitInLine(path, options);
  if (lock === undefined) return undefined;
  if (lock === "met") return { isMet: true, line: undefined, workUntil: undefined, [Symbol.dispose]: () => undefined };
  using held = new DisposableStack();
  held.use(lock);
  const line = (listFolder(lineOf(path)) ?? []).length === 0 ? undefined : (await import("./line-requests.ts")).requestsIn(path);
  const workUntil = readWorkUntil(path);
  const all = held.move();
  return { isMet: false, line, workUntil, [Symbol.dispose]: () => all.dispose() };
}

/** The folder of the places of those who wait. */
export function lineOf(path: string): string {
  return `${path}.line`;
}

/** The file that says when work for others began, and when it was done, in milliseconds since the machine was started. */
export function workFileOf(path: string): string {
  return `${path}.work`;
}

function readWorkUntil(path: string): number | undefined {
  const text = linuxFiles.readText(workFileOf(path));
  if (text === undefined) return undefined;
  const [begun = 0, ended] = text.split(" ").map(Number);
  // A time in the future is of an earlier boot, in a folder that was not cleared.
  return begun > readTimeSinceBoot() ? undefined : (ended ?? begun + WORK_MS);
}
