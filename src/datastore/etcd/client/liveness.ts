/** Tells a quiet watch from a dead one. */

import type { Clock } from "../../../lib/ports.ts";
import { waitAtMost } from "../../../lib/wait-at-most.ts";
import { EtcdFailure } from "../protocol/failure.ts";

/** Silence after which the server is asked whether it lives, in milliseconds. */
const PROBE_AFTER_MS = 30_000;

/** etcd says something every 10 to 11 minutes (`progress_notify`): after longer silence a watch is dead, whatever the server says. */
const SILENCE_LIMIT_MS = 12 * 60_000;

/**
 * Passes replies on.
 *
 * @param first what `replies` gave already
 * @param probe throws when the server does not answer
 * @throws EtcdFailure when the silence is too long; what `probe` and `replies` throw
 */
export async function* withLiveness<T>(
  first: IteratorResult<T>,
  replies: AsyncIterator<T>,
  clock: Clock,
  probe: () => Promise<void>,
): AsyncIterable<T> {
  try {
    for (let result = first; result.done !== true;) {
      yield result.value;
      result = await waitForNext(replies.next(), clock, probe);
    }
  } finally {
    // Not awaited: it waits for the very reply that does not come.
    void replies.return?.().catch(() => undefined);
  }
}

async function waitForNext<T>(next: Promise<IteratorResult<T>>, clock: Clock, probe: () => Promise<void>): Promise<IteratorResult<T>> {
  for (let silentMs = PROBE_AFTER_MS; ; silentMs += PROBE_AFTER_MS) {
    const result = await waitAtMost(PROBE_AFTER_MS, next, clock);
    if (result !== undefined) return result;
    if (silentMs > SILENCE_LIMIT_MS) throw new EtcdFailure("lost", "the watch is silent");
    await probe();
  }
}
