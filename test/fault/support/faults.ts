/** A host of which one step fails, or all from one on. */

import type { Host } from "../../../src/cni/host.ts";
import { OutcomeUnknown } from "../../../src/datastore/outcome-unknown.ts";
import { NetplugError } from "../../../src/lib/errors.ts";
import { KernelError } from "../../../src/linux/kernel-error.ts";
import { type Step, type Work, withSteps } from "./steps.ts";

/** Where a fault strikes: before anything is done, after all of it (the reply is lost), or after a part of several. */
export type Moment = "before" | "after" | "half";

export interface Fault {
  /** Number of the step that fails. */
  readonly at: number;
  readonly moment: Moment;
  /** Whether whatever belongs to the same group fails as well from then on, without being done. */
  readonly isLasting: boolean;
}

export interface FaultyHost {
  readonly host: Host;
  /** The step that failed; undefined when it was not reached. */
  readonly struck: () => Step | undefined;
  /** Whether that step could have been done by half. */
  readonly hasHalf: () => boolean;
}

/** Wraps a host; with a fault that is not reached nothing changes. */
export function withFault(host: Host, fault: Fault, onStrike: (step: Step) => void = () => {}): FaultyHost {
  let struck: Step | undefined;
  let hasHalf = false;
  const faulty = withSteps(host, (step, work) => {
    if (step.number === fault.at) {
      struck = step;
      hasHalf = work.half !== undefined;
      onStrike(step);
      return fail(step, work, fault.moment);
    }
    if (fault.isLasting && struck !== undefined && step.group === struck.group) return fail(step, work, "before");
    return work.whole();
  });
  return { host: faulty, struck: () => struck, hasHalf: () => hasHalf };
}

/** Throws at once where the real thing is synchronous, and rejects where it is not. */
function fail(step: Step, work: Work, moment: Moment): unknown {
  const error = errorOf(step, moment);
  if (moment === "before") {
    if (IS_ASYNC.test(step.name)) return Promise.reject(error);
    throw error;
  }
  const result = moment === "half" ? work.half?.() : work.whole();
  const failAfter = (outcome: unknown): never => {
    end(outcome);
    throw error;
  };
  return result instanceof Promise ? result.then(failAfter) : failAfter(result);
}

/** Nobody gets what was opened or begun, so nobody else could close it or wait for it. */
function end(outcome: unknown): void {
  if (typeof outcome !== "object" || outcome === null) return;
  if ("finish" in outcome && typeof outcome.finish === "function") outcome.finish();
  if (Symbol.dispose in outcome) (outcome as Disposable)[Symbol.dispose]();
}

const IS_ASYNC = /^(fetch|watchDirectory|takeLock|takeTurn|processes\.run|openDatastore\(\)\.(read|commit)|openKube)/;

/** What the real thing fails with. */
function errorOf({ name, group }: Step, moment: Moment): Error {
  const text = `fault at ${name}`;
  switch (group) {
    case "kernel":
      return new KernelError({ operation: "test", object: text, errno: 5 });
    case "datastore":
      return moment !== "before" && /commit/.test(name)
        ? new OutcomeUnknown(`${text}; it may have been applied`)
        : new NetplugError("tryAgainLater", text);
    case "processes":
      return new NetplugError(moment === "before" ? "ioFailure" : "tryAgainLater", text);
    case "openKube":
      return new NetplugError("tryAgainLater", text);
    case "fetch":
    case "readStdin":
    case "watchDirectory":
      return new Error(text);
    default:
      return new NetplugError("ioFailure", text);
  }
}
