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

import type { Attachment } from "../../ipam/request.ts";
import { NetplugError } from "../../lib/errors.ts";
import { quote } from "../../lib/quote.ts";
import type { Netns } from "../../linux/netns.ts";
import type { LocalCall } from "../call.ts";
import { requireNetns, openNetnsIfThere } from "../link/pod-netns.ts";
import { appendToNodeFile, tolerate, END_OF_PART, readNodeFile, removeNodeFile, writeNodeFile } from "./node-files.ts";

/** The kernel gives a process's start to 10 ms. No runtime repeats an ADD within 20 ms. */
const START_MARGIN_MS = 20;

/**
 * What became of an attachment: `held` by this ADD or another in its namespace, `ended` by a DEL, or `taken` by an ADD in another
 * namespace.
 */
export type HoldState = "held" | "ended" | "taken" | "unknown";

/** What the file of an attachment says while an ADD holds it, and until a DEL. */
export interface HoldNote {
  /** Path of the network namespace; "": none is named. */
  readonly path: string;
  /** Identity of that namespace; "": it was not opened. */
  readonly id: string;
  readonly plugin: string | undefined;
  /** Milliseconds since the machine was started. */
  readonly takenAt: number;
  /** Number of the ADD's process; NaN: an older version noted none. */
  readonly processId: number;
  /** Number of the process that called it. */
  readonly callerId: number;
  /** When an ADD last noted its success here, the one that took it or an earlier one, on the clock of `takenAt`; NaN: none has. */
  readonly endedAt: number;
  /** Whether an ADD noted its end here, whatever it was: then nothing that it has sent is on its way. */
  readonly isOver: boolean;
}

/**
 * An ADD's hold of its attachment. It outlives the ADD: a DEL ends it. Disposing of it notes that the ADD is over, for that DEL, unless a commit
 * may still arrive.
 */
export interface Hold extends Disposable {
  state(): HoldState;
  /**
   * Whether another ADD in the namespace has begun since, and there are no turns, as under another main plugin: both go on, but what this one
   * would undo the other may have got.
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
  renew(): void;
  /** Notes that this ADD has succeeded: for a GC that began before. Never makes a file that a DEL has removed. */
  noteEnd(): void;
  /**
   * Whether a commit was sent, by this ADD or one before it, of which no outcome is known: it may arrive after this process has given up, or was
   * killed.
   */
  isSent: boolean;
  /** For `transact()`: {@link requireHeld}, and a commit is sent. */
  readonly beforeCommit: () => void;
  /** For `transact()`. Only one that is applied, and changes the same blocks, says that an earlier one whose reply was lost is refused. */
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
  const own = { path: netns?.path ?? environment.netns ?? "", id: netns?.id ?? "", plugin };
  /** Undefined: not written. */
  let takenAt: number | undefined;
  const { processId, callerId } = host;
  const take = (): void =>
    tolerate(call, () => {
      const now = host.sinceBoot();
      writeHold(call, { ...own, takenAt: now, processId, callerId });
      takenAt = now;
    });
  /** @returns the state, and what the file says */
  const look = (): readonly [state: HoldState, there?: HoldNote] => {
    if (takenAt === undefined) return ["unknown"];
    let there: HoldNote | undefined;
    try {
      there = readHold(call, environment);
    } catch {
      return ["unknown"];
    }
    if (there === undefined) return ["ended"];
    const isOwn = there.path === own.path && there.id === own.id && there.plugin === plugin;
    return [isOwn ? "held" : "taken", there];
  };
  const fail = (what: string): never => {
    const { ifName, containerID } = environment;
    throw new NetplugError("tryAgainLater", `add interface ${quote(ifName)} of container ${quote(containerID)}: ${what}`);
  };
  const failAsTaken = (where = ""): never => fail(`a newer ADD has it in ${quote(where)}`);
  const there = tolerate(call, () => readHold(call, environment));
  if (there !== undefined && isNewer(call, there)) failAsTaken(there.path);
  take();
  let isDone = false;
  let wasSent = false;
  const hold: Hold = {
    isSent: false,
    beforeCommit() {
      hold.requireHeld();
      wasSent = hold.isSent;
      hold.isSent = true;
    },
    onOutcome(isApplied) {
      hold.isSent = wasSent && !isApplied;
    },
    state: () => look()[0],
    isSuperseded() {
      const [state, there] = look();
      return state === "held" && plugin !== "netplug" && (there?.takenAt !== takenAt || there?.processId !== processId);
    },
    requireHeld() {
      if (netns !== undefined) requireNetns(host.kernel, netns);
      const [state, there] = look();
      if (state === "ended") fail("a DEL or GC has ended it meanwhile");
      if (state === "taken") failAsTaken(there?.path);
    },
    renew() {
      const [state, there] = look();
      if (state === "taken") failAsTaken(there?.path);
      take();
    },
    noteEnd() {
      isDone = true;
      tolerate(call, () => appendToNodeFile(call, "attached", host.sinceBoot()));
    },
    [Symbol.dispose]() {
      if (!isDone && !hold.isSent && look()[0] === "held") tolerate(call, () => appendToNodeFile(call, "attached", "failed"));
    },
  };
  return hold;
}

/**
 * Whether an ADD in another namespace took the attachment after this process began. Then the runtime has given up this call, which was
 * stopped, or waited for a processor.
 */
function isNewer(call: LocalCall, there: HoldNote): boolean {
  try {
    return isElsewhere(call, there) && isYounger(call, there);
  } catch {
    return false;
  }
}

/** Whether the hold began after this process. A time in the future is of an earlier boot, in a folder that was not cleared. */
function isYounger({ host }: LocalCall, { takenAt }: HoldNote): boolean {
  const start = host.processStartSinceBoot();
  return start !== undefined && takenAt > start + START_MARGIN_MS && takenAt <= host.sinceBoot();
}

/**
 * Whether the attachment is held in another namespace than this call's. Two paths may name one namespace; a call for addresses alone may
 * name none.
 */
function isElsewhere({ environment: { netns: path }, host: { kernel } }: LocalCall, { path: place, id }: HoldNote): boolean {
  if (place === path) return false;
  using holding = openNetnsIfThere(kernel, place);
  if (holding?.id !== id && id !== "") return false;
  using own = path === undefined ? undefined : openNetnsIfThere(kernel, path);
  return own === undefined || own.id !== id;
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
    const there = readHold(call, call.environment);
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
        return isEnded && readHold(call, call.environment) !== undefined;
      } catch {
        return false;
      }
    },
  };
}

/** @returns undefined when nobody has it @throws NetplugError ioFailure */
export function readHold(call: LocalCall, attachment: Attachment): HoldNote | undefined {
  const text = readNodeFile(call, "attached", attachment);
  if (text === undefined) return undefined;
  const [path = "", id = "", plugin, ...numbers] = text.split(END_OF_PART);
  const [takenAt = NaN, processId = NaN, callerId = NaN, ...ends] = numbers.map(Number);
  return { path, id, plugin, takenAt, processId, callerId, endedAt: ends.findLast(Number.isFinite) ?? NaN, isOver: ends.length > 0 };
}

/** @throws NetplugError ioFailure */
function writeHold(call: LocalCall, { path, id, plugin, takenAt, processId, callerId }: Omit<HoldNote, "endedAt" | "isOver">): void {
  writeNodeFile(call, "attached", [path, id, plugin, takenAt, processId, callerId].join(END_OF_PART));
}
