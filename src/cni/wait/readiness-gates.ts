/** Readiness gates: URLs that must answer before a pod's network is set up. */

import type { Deadline } from "../../lib/deadline.ts";
import { toDurationText } from "../../lib/deadline.ts";
import { messageOf, NetplugError } from "../../lib/errors.ts";
import type { Log } from "../../lib/log/log.ts";
import type { Clock } from "../../lib/ports.ts";
import { quote } from "../../lib/quote.ts";
import { redactText } from "../../lib/redact.ts";
import type { Host } from "../host.ts";

/** What the wait needs of the world. */
interface GatePorts extends Pick<Host, "fetch"> {
  readonly clock: Clock;
  readonly log: Log;
}

/** Milliseconds for all gates together. */
const TOTAL_MS = 30_000;

/** Milliseconds for one try. */
const TRY_MS = 5_000;

/** Milliseconds between an answer and the next try: short at first, since most gates are open or open soon. */
const PAUSES_MS = { first: 100, last: 1_000 } as const;

/** Milliseconds that the last try has before the time is over. */
const LAST_TRY_MS = 500;

/**
 * Waits until every gate has answered 2xx or 3xx: all at the same time, the first try at once.
 *
 * @param signal ends the wait with its own reason, e.g. because the ADD has failed elsewhere
 * @throws NetplugError tryAgainLater after 30 s or at the deadline, naming each gate that was not ready and what it said last
 */
export async function waitForGates(gates: readonly string[], deadline: Deadline, ports: GatePorts, signal: AbortSignal): Promise<void> {
  const limit = deadline.within(TOTAL_MS);
  const allowedMs = limit.remainingMs();
  const failures = await Promise.all(gates.map((gate) => waitForGate(gate, limit, ports, signal)));
  const notReady = failures.filter((failure) => failure !== undefined);
  if (notReady.length === 0) return;
  throw new NetplugError(
    "tryAgainLater",
    `wait for readiness gates: not ready within ${toDurationText(allowedMs)}: ${notReady.join("; ")}`,
  );
}

/** @returns undefined when the gate is ready, else its URL and last answer */
async function waitForGate(gate: string, limit: Deadline, ports: GatePorts, signal: AbortSignal): Promise<string | undefined> {
  const url = quote(redactText(gate));
  let last = "no answer yet";
  for (let pauseMs: number = PAUSES_MS.first; ; pauseMs = Math.min(2 * pauseMs, PAUSES_MS.last)) {
    const answer = await probe(gate, limit, ports, signal);
    if (answer === undefined) return undefined;
    last = answer;
    const untilLastTryMs = limit.remainingMs() - LAST_TRY_MS;
    if (untilLastTryMs < PAUSES_MS.first) return `${url} (${last})`;
    ports.log.debug("readiness gate is not ready", { gate: redactText(gate), answer });
    await ports.clock.sleep(Math.min(pauseMs, untilLastTryMs), signal);
  }
}

/** @returns undefined when the gate is ready, else what it said */
async function probe(gate: string, limit: Deadline, ports: GatePorts, signal: AbortSignal): Promise<string | undefined> {
  try {
    const { status } = await limit.wait("an answer", (ended) => ports.fetch(gate, ended), { limitMs: TRY_MS, signal });
    return status >= 200 && status < 400 ? undefined : `status ${status}`;
  } catch (thrown) {
    signal.throwIfAborted();
    return thrown instanceof NetplugError ? "no answer" : redactText(messageOf(thrown));
  }
}
