/** The first token on a node that is just starting: the API server may not be reachable before other things run here. */

import { delayAfter } from "../../lib/backoff.ts";
import { messageOf, NetplugError } from "../../lib/errors.ts";
import type { Log } from "../../lib/log/log.ts";
import type { InstallHost } from "../host.ts";
import type { Grant, PluginAccount } from "./plugin-account.ts";

const RETRY_BACKOFF = { firstMs: 500, maxMs: 10_000 } as const;

/** How long `--once` waits for an API server that does not answer: its caller waits for the process to end. */
const OUTAGE_ONCE_MS = 60_000;

/** How long a refusal may last: an API server that has just started does not know its roles yet. */
const REFUSAL_MS = 5_000;

/**
 * Asks until there is a token; without `isOnce` an outage may last as long as it likes.
 *
 * @throws NetplugError what no retry can fix
 */
export async function requestFirstToken(
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
      const delayMs = delayAfter(attempt, RETRY_BACKOFF, random);
      if (clock.monotonic() - start + delayMs > waitLimitMs(thrown, isOnce)) throw thrown;
      log.warning("no access to the Kubernetes API yet, trying again", { reason: messageOf(thrown) });
      await clock.sleep(delayMs, stopped);
    }
  }
}

/** How long to go on trying after such a failure. */
function waitLimitMs(thrown: unknown, isOnce: boolean): number {
  if (!(thrown instanceof NetplugError)) return 0;
  if (thrown.retriable) return isOnce ? OUTAGE_ONCE_MS : Infinity;
  return thrown.kind === "accessDenied" ? REFUSAL_MS : 0;
}
