/**
 * Where an attachment is. Who uses an address is known by network, container and interface, and these are the same when a runtime starts a
 * container again, in another namespace. An ADD of the first may still be under way then: the runtime that called it has ended, the next
 * one has called DEL.
 *
 * So an ADD says on the node, before it reads anything, in which namespace the attachment is; a DEL takes that away. By it an ADD that
 * comes late knows that a newer one has the attachment, or that it was ended.
 */

import type { Attachment } from "../../ipam/request.ts";
import { NetplugError } from "../../lib/errors.ts";
import { quote } from "../../lib/quote.ts";
import type { Netns } from "../../linux/netns.ts";
import type { LocalCall } from "../call.ts";
import { expectNetns, openNetnsIfThere } from "../link/pod-netns.ts";
import { attempt, END_OF_PART, fileOf, isNameable, writeNodeFile } from "./node-files.ts";

/** The kernel tells when a process began to 10 ms; no runtime calls two ADDs so quickly one after the other. */
const BEGIN_MARGIN_MS = 20;

/**
 * What became of an attachment: `held` by this ADD or another in its namespace, `ended` by a DEL, or `taken` by an ADD in another
 * namespace.
 */
export type HoldState = "held" | "ended" | "taken" | "unknown";

/** What stands in the file of an attachment that somebody has. */
interface HoldNote {
  /** Of the network namespace; "": none is named. */
  readonly path: string;
  /** Of that namespace; "": it was not looked at. */
  readonly id: string;
  readonly plugin: string | undefined;
  /** Milliseconds since the machine was started. */
  readonly takenAt: number;
}

/** An ADD's hold of its attachment. It outlives the ADD: a DEL ends it. */
export interface Hold {
  state(): HoldState;
  /**
   * Makes sure that it is held still, before what an ADD that comes late must not do.
   *
   * @throws {NetplugError} badNetns when the namespace was removed, tryAgainLater when the attachment is not held any more
   */
  expect(): void;
  /**
   * Takes hold again, after a wait for other calls in the namespace, of which a DEL may have ended it.
   *
   * @throws {NetplugError} tryAgainLater when a newer ADD has it
   */
  renew(): void;
}

/**
 * Takes hold of the call's attachment. Where that cannot be written, nothing is expected.
 *
 * @param netns undefined: the caller wants addresses alone
 * @throws {NetplugError} tryAgainLater when an ADD has it that took hold after this process began
 */
export function holdAttachment(call: LocalCall, netns: Netns | undefined): Hold {
  const { environment, host, plugin } = call;
  const own = { path: netns?.path ?? environment.netns ?? "", id: netns?.id ?? "", plugin };
  let isWritten = false;
  const take = (): void =>
    attempt(call, () => {
      writeHold(call, { ...own, takenAt: host.sinceBoot() });
      isWritten = true;
    });
  /** @returns its state, and where it is */
  const look = (): readonly [state: HoldState, where?: string | undefined] => {
    if (!isWritten) return ["unknown"];
    let there: HoldNote | undefined;
    try {
      there = readHold(call, environment);
    } catch {
      return ["unknown"];
    }
    if (there === undefined) return ["ended"];
    const isOwn = there.path === own.path && there.id === own.id && there.plugin === plugin;
    return isOwn ? ["held"] : ["taken", there.path];
  };
  const fail = (what: string): never => {
    const { ifName, containerID } = environment;
    throw new NetplugError("tryAgainLater", `add interface ${quote(ifName)} of container ${quote(containerID)}: ${what}`);
  };
  const failAsTaken = (where = ""): never => fail(`a newer ADD has it in ${quote(where)}`);
  let there: HoldNote | undefined;
  attempt(call, () => {
    there = readHold(call, environment);
  });
  if (there !== undefined && isNewer(call, there)) failAsTaken(there.path);
  take();
  return {
    state: () => look()[0],
    expect() {
      if (netns !== undefined) expectNetns(host.kernel, netns);
      const [state, where] = look();
      if (state === "ended") fail("a DEL or GC has ended it meanwhile");
      if (state === "taken") failAsTaken(where);
    },
    renew() {
      const [state, where] = look();
      if (state === "taken") failAsTaken(where);
      take();
    },
  };
}

/**
 * Whether it was taken since this process began, in another namespace: the runtime has given up this call, which may have been stopped, or
 * waited for a processor.
 */
function isNewer(call: LocalCall, there: HoldNote): boolean {
  try {
    return isElsewhere(call, there) && isYounger(call, there);
  } catch {
    return false;
  }
}

/** What was taken later than now is of an earlier boot, in a folder that has outlived it. */
function isYounger({ host }: LocalCall, { takenAt }: HoldNote): boolean {
  const begin = host.processBegin();
  return begin !== undefined && takenAt > begin + BEGIN_MARGIN_MS && takenAt <= host.sinceBoot();
}

/**
 * Whether it stands in another namespace than this call's, whose path may be another one of the same. Who wanted addresses alone has named
 * none.
 */
function isElsewhere({ environment: { netns: path }, host: { kernel } }: LocalCall, { path: place, id }: HoldNote): boolean {
  if (place === path) return false;
  using standing = openNetnsIfThere(kernel, place);
  if (standing?.id !== id && id !== "") return false;
  using own = path === undefined ? undefined : openNetnsIfThere(kernel, path);
  return own === undefined || own.id !== id;
}

/** What a DEL has ended. */
export interface EndedHold {
  /** That held the attachment; undefined where nobody knows. */
  readonly plugin: string | undefined;
  /** Whether an ADD has begun since then, or since this process began: the DEL comes late, and what there is now is not its own. */
  isTaken(): boolean;
}

/** Ends the hold of the call's attachment, whoever has it, unless it is newer than the call: for a DEL. */
export function endHold(call: LocalCall): EndedHold {
  let plugin: string | undefined;
  let isEnded = false;
  attempt(call, () => {
    const there = readHold(call, call.environment);
    plugin = there?.plugin;
    if (there !== undefined && !isNewer(call, there)) call.host.files.remove(fileOf(call, "attached", call.environment));
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
  const text = isNameable(call, attachment) ? call.host.files.readText(fileOf(call, "attached", attachment)) : undefined;
  if (text === undefined) return undefined;
  const [path = "", id = "", plugin, takenAt] = text.split(END_OF_PART);
  return { path, id, plugin, takenAt: Number(takenAt) };
}

/** Of the call's attachment. @throws NetplugError ioFailure */
function writeHold(call: LocalCall, { path, id, plugin, takenAt }: HoldNote): void {
  writeNodeFile(call, "attached", [path, id, plugin, takenAt].join(END_OF_PART));
}
