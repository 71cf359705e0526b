/**
 * Which ADD has an attachment. The owner of an address is known by network, container and interface, which stay the same when a container
 * is started again in another namespace. The ADD of the first start may then still run, although its runtime has ended and the next one
 * has called DEL.
 *
 * So an ADD, before it reads anything, writes a file that names its namespace, and a DEL removes the file. By this file a late ADD finds out
 * that a newer ADD has the attachment, or that a DEL has ended its own hold.
 *
 * ```
 *   an ADD begins ──▶ held ──┬── a DEL or GC, whether the ADD is under way, killed or over ──▶ ended: no file
 *                            ├── a newer ADD begins ──▶ taken: the file is that one's
 *                            └── no DEL comes, and the namespace is gone ──▶ a pending release takes its place
 * ```
 */

import { NetplugError } from "../../lib/errors.ts";
import { quote } from "../../lib/quote.ts";
import type { Netns } from "../../linux/netns.ts";
import { isMain, type LocalCall } from "../call.ts";
import { requireNetns } from "../link/pod-netns.ts";
import { type HoldNote, isNewer, readHold, writeHold } from "./hold-note.ts";
import { appendToNodeFile, removeNodeFile, tolerate } from "./node-files.ts";

/**
 * What became of an attachment: `held` by this ADD or another in its namespace, `ended` by a DEL, or `taken` by an ADD in another
 * namespace.
 */
export type HoldState = "held" | "ended" | "taken" | "unknown";

/**
 * An ADD's hold of its attachment. It outlives the ADD: a DEL ends it. Disposing of it notes that the ADD is over, for that DEL, unless a commit
 * may still arrive.
 */
export interface Hold extends Disposable {
  state(): HoldState;
  /**
   * Whether another ADD in the same namespace has begun since. Only under another main plugin, where ADDs do not wait for each other: both go on,
   * and what this one would undo may belong to the other by now.
   */
  isSuperseded(): boolean;
  /**
   * Throws unless this ADD still has the attachment. For before each step that a late ADD must not take.
   *
   * @throws {NetplugError} badNetns when the namespace was removed, tryAgainLater when the attachment is not held any more
   */
  requireHeld(): void;
  /**
   * Takes hold again after a wait for other calls in the namespace: a DEL among them may have ended the hold.
   *
   * @throws {NetplugError} tryAgainLater when a newer ADD has it
   */
  retake(): void;
  /** Notes that this ADD has succeeded: for a GC that began before. Never makes a file that a DEL has removed. */
  noteSuccess(): void;
  /**
   * Whether a commit was sent, by this ADD or one before it, of which no outcome is known: it may arrive after this process has given up, or was
   * killed.
   */
  readonly isCommitUnderWay: boolean;
  /** Notes such a commit that this ADD has not sent itself: one of an earlier ADD, or of a call that serves the queue. */
  noteCommitOfOthers(): void;
  /** Notes that what the ADD wants is recorded: no commit that was sent before can change that any more. */
  noteRecorded(): void;
  /** For `transact()`: {@link requireHeld}, and a commit is sent. */
  readonly beforeCommit: () => void;
  /** For `transact()`. A commit that is applied, and changes the same blocks, shows that an earlier one whose reply was lost will be refused. */
  readonly onOutcome: (isApplied: boolean) => void;
}

/**
 * Takes hold of the call's attachment. When the file cannot be written, `requireHeld()` checks only the namespace.
 *
 * @param netns undefined: the caller wants addresses alone
 * @throws {NetplugError} tryAgainLater when an ADD has it that took hold after this process began
 */
export function holdAttachment(call: LocalCall, netns: Netns | undefined): Hold {
  const { environment, host, plugin } = call;
  const { processId, callerId } = host;
  const own = { path: netns?.path ?? environment.netns ?? "", id: netns?.id ?? "", plugin, processId, callerId };
  /** Undefined: not written. */
  let takenAt: number | undefined;
  const take = (): void =>
    tolerate(call, () => {
      const now = host.sinceBoot();
      writeHold(call, { ...own, takenAt: now });
      takenAt = now;
    });
  const look = (): { readonly state: HoldState; readonly note?: HoldNote } => {
    if (takenAt === undefined) return { state: "unknown" };
    try {
      const note = readHold(call);
      if (note === undefined) return { state: "ended" };
      const isOwn = note.path === own.path && note.id === own.id && note.plugin === plugin;
      return { state: isOwn ? "held" : "taken", note };
    } catch {
      return { state: "unknown" };
    }
  };
  const earlier = tolerate(call, () => readHold(call));
  if (earlier !== undefined && isNewer(call, earlier)) throw toTaken(call, earlier);
  take();
  let hasSucceeded = false;
  /** Commits that were sent, and of which no outcome is known. */
  let underWay = 0;
  const hold: Hold = {
    get isCommitUnderWay() {
      return underWay > 0;
    },
    noteCommitOfOthers: () => void underWay++,
    noteRecorded: () => void (underWay = 0),
    beforeCommit() {
      hold.requireHeld();
      underWay++;
    },
    onOutcome: (isApplied) => void (underWay = isApplied ? 0 : underWay - 1),
    state: () => look().state,
    isSuperseded() {
      const { state, note } = look();
      return state === "held" && !isMain(plugin) && (note?.takenAt !== takenAt || note?.processId !== processId);
    },
    requireHeld() {
      if (netns !== undefined) requireNetns(host.kernel, netns);
      const { state, note } = look();
      if (state === "ended") throw toLost(call, "a DEL or GC has ended it meanwhile");
      if (state === "taken") throw toTaken(call, note);
    },
    retake() {
      const { state, note } = look();
      if (state === "taken") throw toTaken(call, note);
      take();
    },
    noteSuccess() {
      hasSucceeded = true;
      tolerate(call, () => appendToNodeFile(call, "attached", host.sinceBoot()));
    },
    [Symbol.dispose]() {
      if (hasSucceeded || underWay > 0 || look().state !== "held") return;
      tolerate(call, () => appendToNodeFile(call, "attached", "failed"));
    },
  };
  return hold;
}

function toTaken(call: LocalCall, note: HoldNote | undefined): NetplugError {
  return toLost(call, `a newer ADD has it in ${quote(note?.path ?? "")}`);
}

function toLost({ environment: { ifName, containerID } }: LocalCall, reason: string): NetplugError {
  return new NetplugError("tryAgainLater", `add interface ${quote(ifName)} of container ${quote(containerID)}: ${reason}`);
}

/** What a DEL has ended. */
export interface EndedHold {
  /** The plugin that held the attachment; undefined: unknown. */
  readonly plugin: string | undefined;
  /** Whether a newer ADD has the attachment: this DEL is late, and must remove nothing. */
  isTaken(): boolean;
}

/**
 * Ends the hold of the call's attachment, whoever has it, unless it is newer than the call: for a DEL.
 *
 * @param beforeEnd is told of the hold that is about to end
 */
export function endHold(call: LocalCall, beforeEnd?: (hold: HoldNote) => void): EndedHold {
  let plugin: string | undefined;
  let isEnded = false;
  tolerate(call, () => {
    const there = readHold(call);
    plugin = there?.plugin;
    if (there !== undefined && !isNewer(call, there)) {
      beforeEnd?.(there);
      removeNodeFile(call, "attached");
    }
    isEnded = true;
  });
  return {
    plugin,
    isTaken() {
      try {
        return isEnded && readHold(call) !== undefined;
      } catch {
        return false;
      }
    },
  };
}
