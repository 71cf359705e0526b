/**
 * Which ADD has an attachment. The owner of an address is known by network, container and interface, which stay the same when a container
 * is started again in another namespace. The ADD of the first start may then still run, although its runtime has ended and the next one
 * has called DEL.
 *
 * So an ADD, before it reads anything, writes a file that names its namespace, and a DEL removes the file. By this file a late ADD finds out
 * that a newer ADD has the attachment, or that a DEL has ended its own hold. A failed ADD is over only when no commit that was sent for it
 * may still arrive: its hold counts these, too.
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
import { type HoldNote, isNewer, readHold, writeHold, type WrittenHold } from "./hold-note.ts";
import { appendToNodeFile, tolerate } from "./node-files.ts";

/**
 * What became of an attachment: `held` by this ADD or another in its namespace, `ended` by a DEL, or `taken` by an ADD in another
 * namespace.
 */
export type HoldState = "held" | "ended" | "taken" | "unknown";

/** Commits for an attachment of which no outcome is known: sent, or left to others, who may have sent them. */
export class CommitsUnderWay {
  #number = 0;

  /** Whether there are any: each may arrive after this process has given up, or was killed. */
  get mayArrive(): boolean {
    return this.#number > 0;
  }

  /** Notes one: of the ADD, of an earlier ADD whose pending release it cancels, or of a call that may serve its request in the queue. */
  noteUnderWay(): void {
    this.#number++;
  }

  /**
   * Notes that one was applied or refused: for `transact()`. One that is applied, and changes the same blocks, shows that an earlier one whose
   * reply was lost will be refused.
   */
  readonly onOutcome = (isApplied: boolean): void => {
    this.#number = isApplied ? 0 : this.#number - 1;
  };

  /** Notes that what the ADD wants is recorded: no commit that was sent before can change that any more. */
  noteRecorded(): void {
    this.#number = 0;
  }
}

/**
 * An ADD's hold of its attachment. It outlives the ADD: a DEL ends it. Disposing of it notes that the ADD is over, for that DEL, unless a commit
 * may still arrive, or another ADD may be under way.
 */
export class Hold implements Disposable {
  /** Those of this ADD, and of others for its attachment. */
  readonly commits = new CommitsUnderWay();
  readonly #call: LocalCall;
  readonly #netns: Netns | undefined;
  /** What this ADD writes into the file, whenever it does. */
  readonly #own: Omit<WrittenHold, "takenAt">;
  /** Undefined: not written. */
  #takenAt: number | undefined;
  #hasSucceeded = false;

  /**
   * Takes hold of the call's attachment. When the file cannot be written, {@link requireHeld} checks only the namespace.
   *
   * @param netns undefined: the caller wants addresses alone
   * @throws {NetplugError} tryAgainLater when an ADD has it that took hold after this process began
   */
  constructor(call: LocalCall, netns: Netns | undefined) {
    const earlier = tolerate(call, () => readHold(call));
    if (earlier !== undefined && isNewer(call, earlier)) throw toTaken(call, earlier);
    const { processId, callerId } = call.host;
    this.#call = call;
    this.#netns = netns;
    this.#own = { path: netns?.path ?? call.environment.netns ?? "", id: netns?.id ?? "", plugin: call.plugin, processId, callerId };
    this.#take();
  }

  /**
   * Takes hold again after a wait for other calls in the namespace: a DEL among them may have ended the hold.
   *
   * @throws {NetplugError} tryAgainLater when a newer ADD has it
   */
  retake(): void {
    const { state, note } = this.#look();
    if (state === "taken") throw toTaken(this.#call, note);
    this.#take();
  }

  state(): HoldState {
    return this.#look().state;
  }

  /**
   * Whether another ADD in the same namespace has begun since. Only under another main plugin, where ADDs do not wait for each other: both go on,
   * and what this one would undo may belong to the other by now.
   */
  isSuperseded(): boolean {
    const { state, note } = this.#look();
    const { plugin, processId } = this.#own;
    return state === "held" && !isMain(plugin) && (note?.takenAt !== this.#takenAt || note?.processId !== processId);
  }

  /**
   * Throws unless this ADD still has the attachment. For before each step that a late ADD must not take.
   *
   * @throws {NetplugError} badNetns when the namespace was removed, tryAgainLater when the attachment is not held any more
   */
  readonly requireHeld = (): void => {
    if (this.#netns !== undefined) requireNetns(this.#call.host.kernel, this.#netns);
    const { state, note } = this.#look();
    if (state === "ended") throw toLost(this.#call, "a DEL or GC has ended it meanwhile");
    if (state === "taken") throw toTaken(this.#call, note);
  };

  /** For `transact()`: {@link requireHeld}, and one of {@link commits} is sent. */
  readonly beforeCommit = (): void => {
    this.requireHeld();
    this.commits.noteUnderWay();
  };

  /** Notes that this ADD has succeeded: for a GC that began before. Not in the file of an ADD that has the attachment by now in another namespace. */
  noteSuccess(): void {
    this.#hasSucceeded = true;
    this.#append(() => this.#call.host.sinceBoot());
  }

  [Symbol.dispose](): void {
    if (!this.#hasSucceeded && !this.commits.mayArrive && !this.isSuperseded()) this.#append(() => "failed");
  }

  #take(): void {
    tolerate(this.#call, () => {
      const takenAt = this.#call.host.sinceBoot();
      writeHold(this.#call, { ...this.#own, takenAt });
      this.#takenAt = takenAt;
    });
  }

  #append(end: () => string | number): void {
    if (this.state() === "held") tolerate(this.#call, () => appendToNodeFile(this.#call, "attached", end()));
  }

  #look(): { readonly state: HoldState; readonly note?: HoldNote } {
    if (this.#takenAt === undefined) return { state: "unknown" };
    try {
      const note = readHold(this.#call);
      if (note === undefined) return { state: "ended" };
      const { path, id, plugin } = this.#own;
      return { state: note.path === path && note.id === id && note.plugin === plugin ? "held" : "taken", note };
    } catch {
      return { state: "unknown" };
    }
  }
}

/** What the undo of an ADD asks of its hold, without changing anything. */
export type HoldInUndo = Pick<Hold, "state" | "isSuperseded"> & { readonly commits: Pick<CommitsUnderWay, "mayArrive"> };

function toTaken(call: LocalCall, note: HoldNote | undefined): NetplugError {
  return toLost(call, `a newer ADD has it in ${quote(note?.path ?? "")}`);
}

function toLost({ environment: { ifName, containerID } }: LocalCall, reason: string): NetplugError {
  return new NetplugError("tryAgainLater", `add interface ${quote(ifName)} of container ${quote(containerID)}: ${reason}`);
}
