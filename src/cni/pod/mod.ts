/** The door to what the Kubernetes API tells: what is behind it is loaded only when there is something to ask for. */

import type { Call } from "../call.ts";
import { type Asked, isNodeLookedUp, isPodLookedUp } from "./facts.ts";

/**
 * Asks for all that an ADD must know; resolves when the requests are on their way, so that the caller can use the time.
 *
 * @returns undefined when there is nothing to ask for
 * @throws NetplugError invalidConfig, accessDenied when it cannot be asked at all
 */
export async function askKubernetes(call: Call): Promise<Asked | undefined> {
  if (!isPodLookedUp(call) && !isNodeLookedUp(call)) return undefined;
  const span = call.ledger.phase("kubernetes");
  return await (await import("./ask.ts")).askForFacts(call, span);
}
