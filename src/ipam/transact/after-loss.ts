/** What the next try is decided on when others win again and again, or a reply was lost. Loaded only then. */

import type { CommitConflict, Query } from "../../datastore/datastore.ts";
import { OutcomeUnknown } from "../../datastore/outcome-unknown.ts";
import { type Backoff, delayAfter } from "../../lib/backoff.ts";
import { NetplugError } from "../../lib/errors.ts";
import type { Random } from "../../lib/ports.ts";
import type { Facts } from "../facts.ts";
import type { TurnPorts } from "./node-turn.ts";

/** A commit that is not known to have been applied. */
export type LostCommit = CommitConflict<readonly Query[]> | OutcomeUnknown;

/** How often a commit was lost, and how many pauses that makes. */
export interface LossCount {
  readonly losses: number;
  /** From 1, the one to come included. */
  readonly pauses: number;
}

/** The winner of a race is done within a round trip. */
const CONFLICT_BACKOFF: Backoff = { firstMs: 2, maxMs: 100 };

/**
 * Reads the stored state after a pause.
 *
 * @throws {NetplugError} tryAgainLater when there is no time for the pause; what `read` throws. After a lost reply it says that the commit may
 *   have been applied
 */
export async function readAfterPause(
  { clock, deadline, random }: Pick<TurnPorts, "clock" | "deadline"> & { readonly random: Random },
  commit: LostCommit,
  { losses, pauses }: LossCount,
  read: () => Promise<Facts>,
): Promise<Facts> {
  const isUnknown = commit instanceof OutcomeUnknown;
  const delayMs = delayAfter(pauses, CONFLICT_BACKOFF, random);
  try {
    if (delayMs >= deadline.remainingMs()) {
      const why = isUnknown ? "no certain reply" : "others changed the same blocks";
      throw new NetplugError("tryAgainLater", `commit addresses: ${why} after ${losses} tries, and the time is over`);
    }
    await clock.sleep(delayMs);
    return await read();
  } catch (thrown) {
    throw isUnknown && thrown instanceof NetplugError ? afterLostReply(thrown, commit) : thrown;
  }
}

/** A failure while it is not known whether the last commit was applied; the details say why. */
function afterLostReply(failure: NetplugError, { message: details }: OutcomeUnknown): NetplugError {
  const text = "a commit before, whose reply was lost, may have been applied: repeat the call, or undo it by DEL";
  return failure.reworded(`${failure.message}; ${text}`, details);
}
