/** Waiting for an API server, which does in its own time what it was told. */

import type { KubeClient } from "../../kube/client.ts";
import { toDurationText } from "../../lib/deadline.ts";
import { NetplugError } from "../../lib/errors.ts";
import type { Clock } from "../../lib/ports.ts";

/** What waiting for an API server needs. */
export interface WaitPorts {
  readonly client: KubeClient;
  readonly clock: Clock;
  /** When everything must be done, in milliseconds of the clock's `monotonic()`. */
  readonly end: number;
}

const BETWEEN_LOOKS_MS = 100;

/** Looks until something is there. @param look gives undefined while it is not @throws NetplugError tryAgainLater when time is up */
export async function waitFor<T>(what: string, { clock, end }: WaitPorts, look: () => Promise<T | undefined>): Promise<T> {
  const begin = clock.monotonic();
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    const now = clock.monotonic();
    if (now >= end) throw new NetplugError("tryAgainLater", `${what}: it is not so after ${toDurationText(now - begin)}`);
    await clock.sleep(BETWEEN_LOOKS_MS);
  }
}
