/** Turns among the processes of a host, in the order in which they came; and what those who wait ask of the one whose turn it is. */

import type { Clock } from "../lib/ports.ts";
import { linuxFiles } from "./files.ts";
import { takeLock } from "./flock.ts";
import { listFolder } from "./folders.ts";

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
  /** What those who wait ask for; undefined: nothing, as the turn began. */
  readonly line: LineRequests | undefined;
  /** What {@link countWork} says in this turn before we have done any. */
  readonly workCount: number;
}

/** What those who wait want done. */
export interface LineRequests {
  /**
   * Of the living, the first in line first. From now on until the turn is over work for them may be under way.
   *
   * @param onDead gets what somebody wanted who has died since, before it is cleared away: it may have been done
   */
  read(onDead?: (text: string) => void): readonly LineRequest[];
  /** Tells those who have what they want. */
  tellMet(requests: readonly LineRequest[]): void;
}

export interface LineRequest {
  /** The place of whoever wants it. */
  readonly place: string;
  readonly text: string;
}

/**
 * Takes the lock on a file as {@link takeLock} does, after the processes that wait already. With `waitMs` 0 it takes a free lock at once, even
 * before the first in line has noticed. For processes that have nothing else to do: each wait blocks the event loop for up to five seconds
 * at a time.
 *
 * @returns undefined when the time is over; `met` when somebody has done what we asked for: then we need no turn, and have none
 * @throws {KernelError} ioFailure when the file cannot be made or locked
 * @throws the signal's reason
 */
export async function takeTurn(path: string, options: TurnOptions & { readonly request?: undefined }): Promise<Turn | undefined>;
export async function takeTurn(path: string, options: TurnOptions): Promise<Turn | "met" | undefined>;
export async function takeTurn(path: string, options: TurnOptions): Promise<Turn | "met" | undefined> {
  const { waitMs, clock } = options;
  const lock = waitMs <= 0 ? await takeLock(path, { waitMs, clock }) : await (await import("./line.ts")).waitInLine(path, options);
  if (lock === undefined || lock === "met") return lock;
  using held = new DisposableStack();
  held.use(lock);
  const count = countWork(path);
  // Whoever began it has ended without a word, and given back the lock.
  const workCount = isUnderWay(count) ? (await import("./line-requests.ts")).endWork(path, count) : count;
  // Who has waited itself is one of many: more may come while it works. Who has not looks whether anybody asks.
  const isLine = waitMs > 0 || (listFolder(requestsOf(path)) ?? []).length > 0;
  const line = isLine ? held.use((await import("./line-requests.ts")).requestsIn(path, workCount)) : undefined;
  const all = held.move();
  return { line, workCount, [Symbol.dispose]: () => all.dispose() };
}

/**
 * How often work for those in line has begun or ended. It is odd while some is under way. Who learns the same number before a look at the
 * datastore and in a later turn knows that nobody has done anything for others in between. No clock could tell: it may be set, or stand
 * still while the machine is suspended.
 *
 * @throws {KernelError} ioFailure
 */
export function countWork(path: string): number {
  const count = Number(linuxFiles.readText(workFileOf(path)));
  return Number.isSafeInteger(count) ? count : 0;
}

function isUnderWay(workCount: number): boolean {
  return workCount % 2 === 1;
}

/** The folder of the places of those who wait. */
export function lineOf(path: string): string {
  return `${path}.line`;
}

/** The folder of what they ask for. */
export function requestsOf(path: string): string {
  return `${path}.requests`;
}

/** The file with the number of {@link countWork}; none: 0. */
export function workFileOf(path: string): string {
  return `${path}.work`;
}
