/** Runs in which a step fails, in this process. */

import type { Host } from "../../../src/cni/host.ts";
import { fastClock } from "../../support/time/fast-clock.ts";
import { eachStep, type EachStepOptions, type Played, type Report } from "./enumerate.ts";
import { type Fault, type FaultyHost, type Moment, withFault } from "./faults.ts";
import { findIncompleteness, findUnsafety, hasLink } from "./judge.ts";
import type { FaultNode } from "./node.ts";
import type { Step } from "./steps.ts";

export interface FailOptions {
  /** Whether all that belongs together fails from the step on. */
  readonly isLasting: boolean;
  /** A host that does not do what it says, to see that it is noticed. */
  readonly sabotage?: (real: Host) => Host;
}

/** What a half leaves when nothing works any more, one step that fails by half has shown. */
const MOMENTS = { once: ["before", "after", "half"], lasting: ["before", "after"] } as const satisfies Record<string, readonly Moment[]>;
/** Waited for until a limit of half a minute. */
const WAITED_FOR = new Set(["fetch", "files", "watchDirectory"]);
/** How a failed call says that something of it stays. */
const TOLD = /left behind|may have been applied/;

/** Each step of an ADD fails: nothing is left, or it stands whole all the same. */
export function failEachStepOfAdd(node: FaultNode, options: FailOptions): Promise<Report> {
  return eachStep(stepsOf(options), async (at, moment) => {
    await node.programPolicy();
    const call = faultyCall({ at, moment, isLasting: options.isLasting }, options);
    // Newer than a delegate of Debian's knows: what that costs is made to fail as well.
    const reply = await node.call("ADD", { host: call.wrap, config: { cniVersion: "1.1.0" } });
    const changes = await node.changes();
    const faults: string[] = [...findUnsafety(changes)];
    if (reply.status === 0) faults.push(...findIncompleteness(node.flow, reply, changes));
    else {
      const { code, msg = "" } = reply.json ?? {};
      const isClear = code === undefined ? reply.stderr !== "" : code !== 999 && msg !== "";
      if (!isClear) faults.push(`no clear error: ${reply.stdout}`);
      const mayStay = options.isLasting && TOLD.test(msg);
      if (changes.length > 0 && !mayStay) faults.push(`${changes.join("; ")}, which the error does not tell: ${msg}`);
    }
    if (changes.length > 0) faults.push(...(await cleanUp(node, "DEL", options)));
    return played(call, faults);
  });
}

/** Each step of a DEL or GC fails: what can be done is done, nothing is freed that is in use, and the next one does the rest. */
export function failEachStepOfRemoval(node: FaultNode, verb: "DEL" | "GC", options: FailOptions): Promise<Report> {
  return eachStep(stepsOf(options), async (at, moment) => {
    await node.programPolicy();
    const added = await node.call("ADD");
    if (added.status !== 0) return { step: undefined, hasHalf: false, faults: [`the ADD before it failed: ${added.stdout}`] };
    const call = faultyCall({ at, moment, isLasting: options.isLasting }, options);
    const reply = await node.call(verb, { host: call.wrap });
    const changes = await node.changes();
    const faults: string[] = [...findUnsafety(changes)];
    const group = call.struck()?.group;
    if (reply.status === 0 && changes.length > 0) faults.push(`success, but ${changes.join("; ")}`);
    if (reply.status !== 0 && reply.json?.code === 999) faults.push(`no clear error: ${reply.stdout}`);
    // Whatever becomes of the datastore and the delegate, the interface goes.
    const isLinkDue = verb === "DEL" && (group === "datastore" || group === "processes");
    if (isLinkDue && hasLink(changes)) faults.push(`the interface stayed: ${changes.join("; ")}`);
    faults.push(...(await cleanUp(node, verb, options)));
    return played(call, faults);
  });
}

function stepsOf({ isLasting, sabotage }: FailOptions): EachStepOptions {
  return { moments: isLasting ? MOMENTS.lasting : MOMENTS.once, stopsAtFault: sabotage !== undefined };
}

interface FaultyCall {
  readonly wrap: (real: Host) => Host;
  readonly struck: () => Step | undefined;
  readonly hasHalf: () => boolean;
}

function faultyCall(fault: Fault, { sabotage = (real) => real }: FailOptions): FaultyCall {
  const clock = fastClock();
  let faulty: FaultyHost | undefined;
  const onStrike = ({ group }: Step): void => {
    if (fault.isLasting && WAITED_FOR.has(group)) clock.speedUp(30);
  };
  return {
    wrap: (real) => (faulty = withFault(sabotage({ ...real, clock }), fault, onStrike)).host,
    struck: () => faulty?.struck(),
    hasHalf: () => faulty?.hasHalf() ?? false,
  };
}

function played(call: FaultyCall, faults: readonly string[]): Played {
  return { step: call.struck()?.name, hasHalf: call.hasHalf(), faults };
}

/** The next call, which nothing disturbs. */
async function cleanUp(node: FaultNode, verb: "DEL" | "GC", { sabotage }: FailOptions): Promise<readonly string[]> {
  const reply = await node.call(verb, sabotage === undefined ? {} : { host: sabotage });
  if (reply.status !== 0) return [`the next ${verb} failed: ${reply.stdout}`];
  const changes = await node.changes();
  return changes.length === 0 ? [] : [`the next ${verb} did not take away: ${changes.join("; ")}`];
}
