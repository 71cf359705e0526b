/** The pending release of an ADD of `netplug-ipam` under way: it may be killed, or outlive the callers that would call DEL. */

import type { Netns } from "../../linux/netns.ts";
import { isNamedByProcess } from "../attachment-state/gone-netns.ts";
import type { HoldInUndo } from "../attachment-state/hold.ts";
import { hasNodeFile, removeNodeFile, tolerate } from "../attachment-state/node-files.ts";
import { lastArrival, writePending } from "../attachment-state/pending-file.ts";
import type { LocalCall } from "../call.ts";

/** It stands while the ADD is under way. */
export interface PendingOfAdd {
  /** Notes that the addresses are to be released when the ADD's namespace is gone. @throws NetplugError ioFailure */
  readonly write: () => void;
  /** Removes it, unless it may be a newer ADD's: the caller will call DEL, or nothing was allocated. */
  drop(): void;
  /** Keeps it: the ADD is over, and may have left addresses, or what it has sent may arrive. A newer ADD's stays as it is. */
  leave(): void;
}

/**
 * Writes nothing yet.
 *
 * @param netns the ADD's; undefined: the caller wants addresses alone
 * @returns undefined where nobody would see that the namespace is gone
 */
export function preparePendingOfAdd(call: LocalCall, netns: Netns | undefined, hold: HoldInUndo): PendingOfAdd | undefined {
  if (netns === undefined || isNamedByProcess(netns.path)) return undefined;
  const { path, id } = netns;
  const write = (until: number): void => writePending(call, { path, until, id, addresses: [] });
  const ifOwn = (work: () => void): void =>
    tolerate(call, () => {
      const isOthers = hold.isSuperseded() && hasNodeFile(call, "unreleased");
      if (["held", "ended"].includes(hold.state()) && !isOthers) work();
    });
  return {
    write: () => write(lastArrival(call)),
    drop: () => ifOwn(() => removeNodeFile(call, "unreleased")),
    leave: () => ifOwn(() => write(hold.commits.mayArrive ? lastArrival(call) : 0)),
  };
}
