/** When a failed request is made again. */

import type { Backoff } from "../lib/backoff.ts";
import { delayAfter } from "../lib/backoff.ts";
import type { Random } from "../lib/ports.ts";
import type { KubeError } from "./kube-error.ts";
import { isRead, type KubeRequest } from "./request.ts";

/** A server that restarts is back within seconds; one that says how long to wait is believed. */
const BETWEEN_TRIES: Backoff = { firstMs: 50, maxMs: 1_000 };

/** After so many tries we believe that a server that is not there stays away. */
const TRIES_WHEN_UNREACHABLE = 3;

/**
 * Milliseconds to wait before the next try; undefined when there should be none: it may do harm, it cannot help, or there is no time.
 *
 * @param attempt number of the try that failed, from 1
 * @param leftMs what the request's limit leaves
 */
export function retryDelayMs(
  failure: KubeError,
  request: KubeRequest,
  attempt: number,
  leftMs: number,
  random: Random,
): number | undefined {
  if (!mayRepeat(failure, request, attempt)) return undefined;
  const ownMs = delayAfter(attempt, BETWEEN_TRIES, random);
  // Spread out: all who were turned away at once were told the same time. A server that says 0 is not asked without a pause.
  const delayMs = Math.max(ownMs, (failure.retryAfterMs ?? 0) * (1 + random() / 10));
  return delayMs < leftMs ? delayMs : undefined;
}

function mayRepeat(failure: KubeError, request: KubeRequest, attempt: number): boolean {
  switch (failure.reason) {
    case "conflict":
      return isRead(request);
    case "throttled":
      return true;
    case "unreachable":
      return attempt < TRIES_WHEN_UNREACHABLE;
    case "serverFault":
    case "lost":
      return request.isRepeatable || !failure.isOutcomeUnknown;
    default:
      return false;
  }
}
