/** What an installer does after the installation: it renews the token in time, and restores files that were removed. */

import { messageOf } from "../lib/errors.ts";
import type { Log } from "../lib/log/log.ts";
import type { Clock } from "../lib/ports.ts";
import { LostFolder } from "./folders.ts";
import type { InstallHost } from "./host.ts";
import type { Installation } from "./install.ts";
import type { StateFile } from "./state-file.ts";
import { type TokenHolder, TokenRenewal } from "./token-renewal.ts";

/** Milliseconds between looks at the files. */
const POLL_INTERVAL_MS = 10_000;

/** Milliseconds between questions to the API server: whether it accepts the token, and which runtime the node has. Every node asks them. */
const CHECK_INTERVAL_MS = 300_000;

/** How an installation is kept. */
export interface StayOptions {
  /** Milliseconds after which a token is renewed, unless its life wants it earlier. */
  readonly tokenRefreshMs: number;
  /** Gets a report after each look at the files. */
  readonly state: Pick<StateFile, "report">;
}

type Maintained = TokenHolder & Pick<Installation, "followRuntime" | "reconcile">;

/** Returns when the process is asked to end. @throws LostFolder when only another process can go on */
export async function stay(
  installation: Maintained,
  { tokenRefreshMs, state }: StayOptions,
  host: Pick<InstallHost, "clock" | "random" | "stopped">,
  log: Log,
): Promise<void> {
  const { clock, random, stopped } = host;
  const renewal = new TokenRenewal(installation, tokenRefreshMs, host, log);
  /** Logged once: the same every ten seconds would hide all other messages. */
  let lastReason: string | undefined;
  let checkedAt = clock.monotonic() - CHECK_INTERVAL_MS * random();
  while (await sleepUnlessStopped(Math.min(POLL_INTERVAL_MS, renewal.dueInMs()), clock, stopped)) {
    const isCheckDue = clock.monotonic() - checkedAt >= CHECK_INTERVAL_MS;
    if (isCheckDue) checkedAt = clock.monotonic();
    await renewal.keep(isCheckDue, stopped);
    try {
      if (isCheckDue) await installation.followRuntime();
      await installation.reconcile();
      state.report(renewal.notReadyReason());
      lastReason = undefined;
    } catch (thrown) {
      if (stopped.aborted) return;
      const reason = messageOf(thrown);
      tryReport(state, `files cannot be kept in place: ${reason}`);
      // A container that is started again has the new folder mounted.
      if (thrown instanceof LostFolder) throw thrown;
      if (reason !== lastReason) log.warning("cannot keep files in place, trying again", { reason });
      lastReason = reason;
    }
  }
}

/** If the state cannot be written, readers find the former one, and the log has the reason. */
function tryReport(state: StayOptions["state"], reason: string): void {
  try {
    state.report(reason);
  } catch {
    // Most likely for the same reason: the disk.
  }
}

async function sleepUnlessStopped(ms: number, clock: Clock, stopped: AbortSignal): Promise<boolean> {
  try {
    await clock.sleep(ms, stopped);
  } catch (thrown) {
    if (!stopped.aborted) throw thrown;
  }
  return !stopped.aborted;
}
