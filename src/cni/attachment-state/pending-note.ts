/** What stands in the file of a pending release, see `pending-release.ts`; and how an ADD leaves one that may not live to its end. */

import type { Files } from "../../lib/ports.ts";
import type { Netns } from "../../linux/netns.ts";
import type { LocalCall } from "../call.ts";
import type { Hold } from "./hold.ts";
import { attempt, END_OF_PART, fileOf, writeNodeFile } from "./node-files.ts";

/** Milliseconds after which no ADD is under way any more. */
export const LONGEST_ADD_MS = 60_000;

/** What it waits for. */
export interface PendingNote {
  /** Of the network namespace that must be gone first; "": nothing must. */
  readonly path: string;
  /** Milliseconds since 1970, until when an ADD may be under way that sees to it itself; 0: there is none. */
  readonly until: number;
  /** Of that namespace. */
  readonly id: string;
}

/** @returns undefined when nothing is pending */
export function readPending(files: Files, file: string): PendingNote | undefined {
  const text = files.readText(file);
  if (text === undefined) return undefined;
  const [path = "", until = "", id = ""] = text.split(END_OF_PART);
  return { path, until: Number(until), id };
}

/** Replaces that of the call's attachment. @throws NetplugError ioFailure */
export function writePending(call: LocalCall, { path, until, id }: PendingNote): void {
  writeNodeFile(call, "unreleased", [path, until, id].join(END_OF_PART));
}

/** Of an ADD under another main plugin, which may be killed, or outlive those who would call DEL for it. */
export interface PendingMark {
  /** There is nothing to give back but by DEL. */
  drop(): void;
  /** The ADD is at its end and there may be something. */
  leave(): void;
}

/** Says, as an ADD begins, that it may leave something allocated when its namespace is gone. */
export function markPending(call: LocalCall, { path, id }: Netns, hold: Hold): PendingMark {
  const { clock, files } = call.host;
  const write = (until: number): void => attempt(call, () => writePending(call, { path, until, id }));
  const ifHeld = (work: () => void): void => {
    if (["held", "ended"].includes(hold.state())) work();
  };
  write(clock.now() + LONGEST_ADD_MS);
  return {
    drop: () => ifHeld(() => attempt(call, () => void files.remove(fileOf(call, "unreleased", call.environment)))),
    leave: () => ifHeld(() => write(0)),
  };
}
