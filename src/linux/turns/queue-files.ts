/** The files beside the lock that a queue waits for. Older versions beside us use the same names. */

import { linuxFiles } from "../files.ts";

/**
 * How often work for queued requests has begun or ended: odd while some is under way. The same number before a read of the datastore and in a
 * later turn means that no request was served in between. No clock could tell: it may be set, or stand still while the machine is suspended.
 *
 * @throws {KernelError} ioFailure
 */
export function countWork(path: string): number {
  const count = Number(linuxFiles.readText(workFileOf(path)));
  return Number.isSafeInteger(count) ? count : 0;
}

/** Whether work had begun, and had not ended, at a number of {@link countWork}. */
export function isUnderWay(workCount: number): boolean {
  return workCount % 2 === 1;
}

/** The folder of the places of those who wait. */
export function queueOf(path: string): string {
  return `${path}.line`;
}

/** The folder of their requests. */
export function requestsOf(path: string): string {
  return `${path}.requests`;
}

/** The file with the number of {@link countWork}; none: 0. */
export function workFileOf(path: string): string {
  return `${path}.work`;
}
