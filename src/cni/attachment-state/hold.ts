/**
 * Where an attachment is. Who uses an address is known by network, container and interface, and these are the same when a runtime starts a
 * container again, in another namespace. An ADD of the first may still be under way then: the runtime that called it has ended, the next
 * one has called DEL.
 *
 * So an ADD says on the node, before it reads anything, in which namespace the attachment is; a DEL takes that away. By it an ADD that
 * comes late knows that a newer one has the attachment, or that it was ended.
 */

import { NetplugError } from "../../lib/errors.ts";
import { quote } from "../../lib/quote.ts";
import type { Netns } from "../../linux/netns.ts";
import type { LocalCall } from "../call.ts";
import { expectNetns, openNetnsIfThere } from "../link/pod-netns.ts";
import { attempt, END_OF_PART, fileOf, isNameable, type NamedAttachment, writeNodeFile } from "./node-files.ts";

/** The kernel tells when a process began to 10 ms; no runtime calls two ADDs so quickly one after the other. */
const BEGIN_MARGIN_MS = 20;

/**
 * What became of an attachment: `held` by this ADD or another in its namespace, `ended` by a DEL, or `taken` by an ADD in another
 * namespace.
 */
export type HoldState = "held" | "ended" | "taken" | "unknown";

/** An ADD's hold of its attachment. It outlives the ADD: a DEL ends it. */
export interface Hold {
  state(): HoldState;
  /**
   * Before what an ADD that comes late must not do.
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
  const own = [netns?.path ?? environment.netns, netns?.id, plugin, ""].join(END_OF_PART);
  let isWritten = false;
  const take = (): void =>
    attempt(call, () => {
      writeNodeFile(call, "attached", `${own}${host.sinceBoot()}`);
      isWritten = true;
    });
  /** @returns its state, and where it is */
  const look = (): readonly [state: HoldState, where?: string | undefined] => {
    if (!isWritten) return ["unknown"];
    let there: string | undefined;
    try {
      there = readHold(call, environment);
    } catch {
      return ["unknown"];
    }
    return there === undefined ? ["ended"] : there.startsWith(own) ? ["held"] : ["taken", placeOf(there)];
  };
  const fail = (what: string): never => {
    const { ifName, containerID } = environment;
    throw new NetplugError("tryAgainLater", `add interface ${quote(ifName)} of container ${quote(containerID)}: ${what}`);
  };
  const failAsTaken = (where = ""): never => fail(`a newer ADD has it in ${quote(where)}`);
  let there: string | undefined;
  attempt(call, () => {
    there = readHold(call, environment);
  });
  if (there !== undefined && isNewer(call, there)) failAsTaken(placeOf(there));
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

function placeOf(there: string): string {
  return there.split(END_OF_PART)[0] ?? "";
}

/**
 * Whether it was taken since this process began, in another namespace: the runtime has given up this call, which may have been stopped, or
 * waited for a processor.
 */
function isNewer(call: LocalCall, there: string): boolean {
  try {
    return isElsewhere(call, there) && isYounger(call, there);
  } catch {
    return false;
  }
}

/** What was taken later than now is of an earlier boot, in a folder that has outlived it. */
function isYounger({ host }: LocalCall, there: string): boolean {
  const begin = host.processBegin();
  const takenAt = Number(there.split(END_OF_PART)[3]);
  return begin !== undefined && takenAt > begin + BEGIN_MARGIN_MS && takenAt <= host.sinceBoot();
}

/**
 * Whether it stands in another namespace than this call's, whose path may be another one of the same. Who wanted addresses alone has named
 * none.
 */
function isElsewhere({ environment: { netns: path }, host: { kernel } }: LocalCall, there: string): boolean {
  const [place = "", id = ""] = there.split(END_OF_PART);
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

/** For a DEL. */
export function endHold(call: LocalCall): EndedHold {
  let plugin: string | undefined;
  let isEnded = false;
  attempt(call, () => {
    const there = readHold(call, call.environment);
    plugin = there?.split(END_OF_PART)[2];
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

/** Who has it, as it was written; undefined: nobody. */
export function readHold(call: LocalCall, attachment: NamedAttachment): string | undefined {
  return isNameable(call, attachment) ? call.host.files.readText(fileOf(call, "attached", attachment)) : undefined;
}
