/** When a failed request is made again. */

import type { Backoff } from "../../lib/backoff.ts";
import { delayAfter } from "../../lib/backoff.ts";
import type { Random } from "../../lib/ports.ts";
import type { KubeError } from "../kube-error.ts";
import { isRead, type KubeRequest } from "../request.ts";

/** A server that restarts is back within seconds; a server's own Retry-After counts if it is longer. */
const RETRY_BACKOFF: Backoff = { firstMs: 50, maxMs: 1_000 };

/** Tries after which an unreachable server counts as down. */
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
  const ownMs = delayAfter(attempt, RETRY_BACKOFF, random);
  // Spread out, because all clients that were refused got the same time. With a Retry-After of 0 our own pause still holds.
  const delayMs = Math.max(ownMs, (failure.retryAfterMs ?? 0) * (1 + random() / 10));
  return delayMs < leftMs ? delayMs : undefined;
}

function mayRepeat(failure: KubeError, request: KubeRequest, attempt: number): boolean {
  switch (failure.reason) {
    case "conflict":
      return isRead(request);
    case "throttled":
      return true;
    case "forbidden":
      // By a role, of a server that may not have read them yet.
      return failure.denied !== undefined;
    case "unreachable":
      return attempt < TRIES_WHEN_UNREACHABLE;
    case "serverFault":
    case "lost":
      return request.isRepeatable || !failure.isOutcomeUnknown;
    default:
      return false;
  }
}
