/**
 * What calls may leave allocated with nobody to call DEL for it again: noted on the node, for the next DEL of its network to give back. A runtime should
 * repeat a DEL that fails. containerd 2 does not when the container's ADD has failed as well, and then nobody else knows of these addresses.
 *
 * A note is a file that is named after the attachment. In it stands what must be gone before anything is given back: nothing, when it was our interface,
 * which is gone; or the path of the network namespace, for under another main plugin only that plugin knows the interface. A note may get lost, then
 * GC does its work. None may stand for addresses that are in use, unless their namespace is in it.
 */

import type { ErrorName } from "../lib/errors.ts";
import { messageOf, NetplugError } from "../lib/errors.ts";
import type { Files } from "../lib/ports.ts";
import { quote } from "../lib/quote.ts";
import type { LocalCall } from "./call.ts";

/** As the runtime names it, within a network. */
export interface NotedAttachment {
  readonly containerID: string;
  readonly ifName: string;
}

/** Neither a network's name nor a container ID can hold it. */
export const SEPARATOR = "@";
/** Between the parts of a note; no path that we take has it. */
const END_OF_PART = "\n";
const FILE_MODE = 0o600;
/** Longest name of a note; the kernel's limit is 255, and the file is written beside its place first. */
const NAME_LENGTH_MAX = 230;
/** Milliseconds, longer than a DEL takes for them. */
export const NOTES_WAIT_MS = 5_000;

/** Milliseconds after which no ADD is under way any more. */
export const LONGEST_ADD_MS = 60_000;

/** Failures that end without anybody changing what is stored. */
const PASSING: readonly ErrorName[] = ["tryAgainLater", "accessDenied", "notInitialised"];

/** What a note says. */
export interface Note {
  /** Of the network namespace that must be gone first; "": nothing must. */
  readonly path: string;
  /** Milliseconds since 1970, until when an ADD may be under way that sees to it itself; 0: there is none. */
  readonly until: number;
  /** By which that ADD knows that the note is still its own; "": a DEL came since. */
  readonly token: string;
}

/**
 * Notes the attachment of a DEL that could not give back its addresses. Under another main plugin only while the namespace stands, whose end tells that of
 * the interface then; without one nothing would.
 *
 * @param reason why they are not given back
 */
export function noteUnreleased(call: LocalCall, reason: unknown): void {
  if (!(reason instanceof NetplugError) || !PASSING.includes(reason.kind)) return;
  const path = call.plugin === "netplug" ? "" : standingNetnsOf(call);
  if (path === undefined) return;
  attempt(call, () => {
    const there = readOwn(call);
    // Of another namespace of the attachment: what that one waits for must be gone too.
    if (there === undefined || there.path === path) writeOwn(call, { path, until: there?.until ?? 0, token: "" });
  });
}

/** Of an ADD under another main plugin, which may be killed, or outlive those who would call DEL for it. */
export interface BegunNote {
  /** There is nothing to give back but by DEL. When one was called since, the note stays. */
  drop(): void;
  /** The ADD is at its end and there may be something. */
  leave(): void;
}

/** Notes the attachment of an ADD whose namespace stands. */
export function noteBegun(call: LocalCall): BegunNote {
  const { host, environment } = call;
  const note: Note = { path: environment.netns ?? "", until: host.clock.now() + LONGEST_ADD_MS, token: String(host.random()) };
  const ifOwn = (work: () => void): void =>
    attempt(call, () => {
      if (readOwn(call)?.token === note.token) work();
    });
  attempt(call, () => writeOwn(call, note));
  return {
    drop: () => ifOwn(() => void host.files.remove(fileOf(call, environment))),
    leave: () => ifOwn(() => writeOwn(call, { ...note, until: 0, token: "" })),
  };
}

/** For a DEL in whose namespace an ADD is under way that nobody waits for any more: it shall not drop its note when it succeeds. */
export function keepNote(call: LocalCall): void {
  if (call.plugin === "netplug") return;
  attempt(call, () => {
    const there = readOwn(call);
    if (there !== undefined && there.token !== "" && standingNetnsOf(call) === there.path) writeOwn(call, { ...there, token: "" });
  });
}

/** Whether there ever was a note. */
export function hasNotes(call: LocalCall): boolean {
  let isThere = false;
  attempt(call, () => void (isThere = call.host.files.exists(folderOf(call))));
  return isThere;
}

/**
 * For an ADD of an attachment that may be noted, before it reads what is allocated: what it gets is not to be given back. Waits for whoever is about to.
 *
 * @throws NetplugError tryAgainLater when that takes too long
 */
export async function claimUnreleased(call: LocalCall): Promise<void> {
  const file = fileOf(call, call.environment);
  if (!isNameable(call, call.environment) || !call.host.files.exists(file)) return;
  using turn = await call.host.takeTurn(lockOf(call), NOTES_WAIT_MS);
  if (turn === undefined)
    throw new NetplugError("tryAgainLater", `lock ${quote(lockOf(call))}: the addresses of an earlier ADD are being given back`);
  call.host.files.remove(file);
}

/** Path of the call's network namespace, when it is one. */
function standingNetnsOf({ environment: { netns: path }, host: { kernel } }: LocalCall): string | undefined {
  if (path === undefined) return undefined;
  try {
    using netns = kernel.openNetns(path);
    return netns?.path;
  } catch {
    return undefined;
  }
}

/** That of the call's attachment. */
export function readOwn(call: LocalCall): Note | undefined {
  return isNameable(call, call.environment) ? readNote(call.host.files, fileOf(call, call.environment)) : undefined;
}

export function readNote(files: Files, file: string): Note | undefined {
  const text = files.readText(file);
  if (text === undefined) return undefined;
  const [path = "", until = "", token = ""] = text.split(END_OF_PART);
  return { path, until: Number(until), token };
}

export function writeOwn(call: LocalCall, { path, until, token }: Note): void {
  if (!isNameable(call, call.environment))
    throw new NetplugError("ioFailure", "the names of network, container and interface are too long");
  call.host.files.writeAtomically(fileOf(call, call.environment), [path, until, token].join(END_OF_PART), FILE_MODE);
}

/** No call fails for a note. */
export function attempt(call: LocalCall, work: () => void): void {
  try {
    work();
  } catch (thrown) {
    call.log.warning("cannot note what is left to release", { reason: messageOf(thrown) });
  }
}

/** Who has it decides what becomes of the notes. */
export function lockOf(call: LocalCall): string {
  return `${folderOf(call)}.lock`;
}

/** In a folder that does not outlive a boot, beside the lock that all calls of the node share. */
export function folderOf({ config: { ipamLockFile } }: LocalCall): string {
  return `${ipamLockFile.slice(0, ipamLockFile.lastIndexOf("/"))}/unreleased`;
}

export function fileOf(call: LocalCall, attachment: NotedAttachment): string {
  return `${folderOf(call)}/${nameOf(call, attachment)}`;
}

function nameOf({ config }: LocalCall, { containerID, ifName }: NotedAttachment): string {
  return [config.name, containerID, ifName].join(SEPARATOR);
}

/** With names that are all too long there are no notes, only GC. */
function isNameable(call: LocalCall, attachment: NotedAttachment): boolean {
  return nameOf(call, attachment).length <= NAME_LENGTH_MAX;
}
