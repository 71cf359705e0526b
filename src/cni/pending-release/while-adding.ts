/** The pending release of an ADD of `netplug-ipam` under way: it may be killed, or outlive the callers that would call DEL. */

import { LONGEST_ADD_MS } from "../../ipam/longest-add.ts";
import type { Netns } from "../../linux/netns.ts";
import type { Hold } from "../attachment-state/hold.ts";
import { removeNodeFile, tolerate } from "../attachment-state/node-files.ts";
import type { LocalCall } from "../call.ts";
import { writePending } from "./pending-file.ts";

/** It stands while the ADD is under way. */
export interface PendingOfAdd {
  /** Notes that the addresses are to be released when the ADD's namespace is gone. @throws NetplugError ioFailure */
  readonly write: () => void;
  /** Removes it: the caller will call DEL, or nothing was allocated. */
  drop(): void;
  /** Keeps it: the ADD is over, and may have left addresses, or what it has sent may arrive. */
  leave(): void;
}

/** Writes nothing yet. */
export function preparePendingOfAdd(call: LocalCall, { path, id }: Netns, hold: Hold): PendingOfAdd {
  const { clock } = call.host;
  const write = (until: number): void => writePending(call, { path, until, id, addresses: [] });
  const ifHeld = (work: () => void): void => {
    if (["held", "ended"].includes(hold.state())) tolerate(call, work);
  };
  return {
    write: () => write(clock.now() + LONGEST_ADD_MS),
    drop: () => ifHeld(() => removeNodeFile(call, "unreleased")),
    leave: () => ifHeld(() => write(hold.isSent ? clock.now() + LONGEST_ADD_MS : 0)),
  };
}
