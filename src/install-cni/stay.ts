/** What an installer does after the installation: it renews the token in time, and restores files that somebody removes. */

import { messageOf } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import type { Clock } from "../lib/ports.ts";
import { LostFolder } from "./folders.ts";
import type { InstallHost } from "./host.ts";
import type { Installation } from "./install.ts";
import type { StateFile } from "./state-file.ts";
import { type TokenHolder, TokenRenewal } from "./token-renewal.ts";

/** How often the files are looked at. */
const POLL_INTERVAL_MS = 10_000;

/** How often the API server is asked whether it takes the token, and which runtime the node has: every node of a cluster does this. */
const TRY_EVERY_MS = 300_000;

/** How an installation is kept. */
export interface StayOptions {
  /** Milliseconds after which a token is renewed, unless its life wants it earlier. */
  readonly tokenRefreshMs: number;
  /** Is told at each look why pods may get no network, or that they do. */
  readonly state: Pick<StateFile, "say">;
}

type Kept = TokenHolder & Pick<Installation, "followRuntime" | "reconcile">;

/** Returns when the process is asked to end. @throws LostFolder when only another process can go on */
export async function stay(
  installation: Kept,
  { tokenRefreshMs, state }: StayOptions,
  host: Pick<InstallHost, "clock" | "random" | "stopped">,
  log: Log,
): Promise<void> {
  const { clock, random, stopped } = host;
  const renewal = new TokenRenewal(installation, tokenRefreshMs, host, log);
  /** The same complaint every ten seconds would hide all others. */
  let lastComplaint: string | undefined;
  let triedAt = clock.monotonic() - TRY_EVERY_MS * random();
  while (await sleepUnlessStopped(Math.min(POLL_INTERVAL_MS, renewal.dueInMs()), clock, stopped)) {
    const isTry = clock.monotonic() - triedAt >= TRY_EVERY_MS;
    if (isTry) triedAt = clock.monotonic();
    if (isTry || renewal.isDoubtDue()) await renewal.ask();
    if (renewal.dueInMs() <= 0) await renewal.run(stopped);
    try {
      if (isTry) await installation.followRuntime();
      await installation.reconcile();
      state.say(renewal.notReadyReason());
      lastComplaint = undefined;
    } catch (thrown) {
      if (stopped.aborted) return;
      const reason = messageOf(thrown);
      trySay(state, `files cannot be kept in place: ${reason}`);
      // A container that is started again has the new folder mounted.
      if (thrown instanceof LostFolder) throw thrown;
      if (reason !== lastComplaint) log.warning("cannot keep files in place, trying again", { reason });
      lastComplaint = reason;
    }
  }
}

/** If the state cannot be written, readers find the former one, and the log has the reason. */
function trySay(state: StayOptions["state"], reason: string): void {
  try {
    state.say(reason);
  } catch {
    // Most likely it is the disk that is the reason.
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
