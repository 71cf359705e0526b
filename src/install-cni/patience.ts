/** The first token of a node that is just starting: the API server may not be reachable before other things run here. */

import { delayAfter } from "../lib/backoff.ts";
import { messageOf, NetplugError } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import type { Grant, PluginAccount } from "./access.ts";
import type { InstallHost } from "./host.ts";

const BETWEEN_TRIES = { firstMs: 500, maxMs: 10_000 } as const;

/** How long `--once` waits for an API server that does not answer: somebody waits for us to end. */
const ONCE_MS = 60_000;

/** How long a refusal is taken for one that ends soon: an API server that has just started does not know its roles yet. */
const DENIED_MS = 5_000;

/**
 * Asks until there is a token. Without `isOnce` an outage is waited for as long as it takes.
 *
 * @throws NetplugError what cannot be expected to become better
 */
export async function requestPatiently(
  account: Pick<PluginAccount, "requestToken">,
  isOnce: boolean,
  { clock, random, stopped }: Pick<InstallHost, "clock" | "random" | "stopped">,
  log: Log,
): Promise<Grant> {
  const start = clock.monotonic();
  for (let attempt = 1; ; attempt++) {
    try {
      return await account.requestToken(stopped);
    } catch (thrown) {
      stopped.throwIfAborted();
      const delayMs = delayAfter(attempt, BETWEEN_TRIES, random);
      if (clock.monotonic() - start + delayMs > patienceMs(thrown, isOnce)) throw thrown;
      log.warning("no access to the Kubernetes API yet, trying again", { reason: messageOf(thrown) });
      await clock.sleep(delayMs, stopped);
    }
  }
}

function patienceMs(thrown: unknown, isOnce: boolean): number {
  if (!(thrown instanceof NetplugError)) return 0;
  if (thrown.retriable) return isOnce ? ONCE_MS : Infinity;
  return thrown.kind === "accessDenied" ? DENIED_MS : 0;
}
