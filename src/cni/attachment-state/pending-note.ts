/** The content of a pending release's file, see `pending-release.ts`, and how an ADD that may be killed writes one in advance. */

import { LONGEST_ADD_MS } from "../../ipam/longest-add.ts";
import type { Attachment } from "../../ipam/request.ts";
import { type Address, toAddressText, tryParseAddress } from "../../lib/ip/address.ts";
import type { Netns } from "../../linux/netns.ts";
import type { LocalCall } from "../call.ts";
import type { Hold } from "./hold.ts";
import { attempt, END_OF_PART, readNodeFile, removeNodeFile, writeNodeFile } from "./node-files.ts";

/** What a release waits for. */
export interface PendingNote {
  /** Path of the network namespace that must be gone first; "": none must. */
  readonly path: string;
  /** Milliseconds since 1970: until then an ADD may run that removes the file itself, or what it has sent may arrive; 0: neither. */
  readonly until: number;
  /** Identity of that namespace. */
  readonly id: string;
  /** What the runtime remembers of the attachment's addresses: by them they are found where the node had another name. May be none. */
  readonly addresses: readonly Address[];
}

/** Between the addresses. They are the last part of the file: older versions write none, and leave them unread. */
const END_OF_ADDRESS = " ";

/** @returns undefined when nothing is pending, or the file is damaged: one that was emptied would say that nothing must be gone */
export function readPending(call: LocalCall, attachment: Attachment): PendingNote | undefined {
  const [path, until, id, addresses = ""] = readNodeFile(call, "unreleased", attachment)?.split(END_OF_PART) ?? [];
  if (path === undefined || until === undefined || id === undefined) return undefined;
  const parsed = addresses.split(END_OF_ADDRESS).map(tryParseAddress);
  return { path, until: Number(until), id, addresses: parsed.filter((address) => address !== undefined) };
}

/** Replaces the note of the call's attachment. @throws NetplugError ioFailure */
export function writePending(call: LocalCall, { path, until, id, addresses }: PendingNote): void {
  const known = addresses.map(toAddressText).join(END_OF_ADDRESS);
  writeNodeFile(call, "unreleased", [path, until, id, known].join(END_OF_PART));
}

/** The note of an ADD of `netplug-ipam`, which may be killed, or outlive the callers that would call DEL. */
export interface PendingMark {
  /** Removes the note: the caller will call DEL, or nothing was allocated. */
  drop(): void;
  /** Keeps the note: the ADD is over, and may have left addresses, or what it has sent may arrive. */
  leave(): void;
}

/** Notes, as an ADD begins, that its addresses are to be released when its namespace is gone. */
export function markPending(call: LocalCall, { path, id }: Netns, hold: Hold): PendingMark {
  const { clock } = call.host;
  const write = (until: number): void => attempt(call, () => writePending(call, { path, until, id, addresses: [] }));
  const ifHeld = (work: () => void): void => {
    if (["held", "ended"].includes(hold.state())) work();
  };
  write(clock.now() + LONGEST_ADD_MS);
  return {
    drop: () => ifHeld(() => attempt(call, () => removeNodeFile(call, "unreleased"))),
    leave: () => ifHeld(() => write(hold.isSent ? clock.now() + LONGEST_ADD_MS : 0)),
  };
}
