/** For how long the ADD that took a hold may be at work: for those who look at holds of other calls. */

import { LONGEST_ADD_MS } from "../../ipam/longest-add.ts";
import type { LocalCall } from "../call.ts";
import type { HoldNote } from "./hold-note.ts";

/** Milliseconds that an ADD of the call's network takes at most, with its wait for policy. */
export function longestAddMs({ config }: Pick<LocalCall, "config">): number {
  return LONGEST_ADD_MS + config.policySetupTimeoutMs;
}

/** Whether the ADD must be over. A time in the future is of an earlier boot, in a folder that was not cleared. */
export function isAddOver(call: Pick<LocalCall, "config" | "host">, { takenAt }: HoldNote): boolean {
  const ageMs = call.host.sinceBoot() - takenAt;
  return ageMs < 0 || ageMs > longestAddMs(call);
}
