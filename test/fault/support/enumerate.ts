/** Plays the same run again and again, each time with the fault one step later, until one run ends before its fault: then all were met. */

import type { Moment } from "./faults.ts";

/** How one run went. */
export interface Played {
  /** Name of the step that the fault struck; undefined when the run ended before. */
  readonly step: string | undefined;
  /** Whether the step could have been done by half. */
  readonly hasHalf: boolean;
  /** What was wrong afterwards; empty when all was as it must be. */
  readonly faults: readonly string[];
}

/** What came of all of them. */
export interface Report {
  /** One line per thing that was wrong, with step and moment. */
  readonly faults: readonly string[];
  /** In order, once each. */
  readonly steps: readonly string[];
}

/** More than any run has: one that never ends has to be found too. */
const MAX_STEPS = 300;

export interface EachStepOptions {
  /** At which each step is struck; `half` only where there is one. */
  readonly moments: readonly Moment[];
  /** Whether the first thing that is wrong is enough. @default false */
  readonly stopsAtFault?: boolean;
}

export async function eachStep(
  { moments, stopsAtFault = false }: EachStepOptions,
  play: (at: number, moment: Moment) => Promise<Played>,
): Promise<Report> {
  const faults: string[] = [];
  const steps: string[] = [];
  for (let at = 1; at <= MAX_STEPS; at++) {
    let hasHalf = false;
    for (const moment of moments) {
      if (moment === "half" && !hasHalf) continue;
      const played = await play(at, moment);
      faults.push(...played.faults.map((fault) => `step ${at} (${moment} ${played.step ?? "no step"}): ${fault}`));
      if (played.step === undefined || (stopsAtFault && faults.length > 0)) return { faults, steps };
      if (steps.length < at) steps.push(played.step);
      hasHalf = played.hasHalf;
    }
  }
  throw new Error(`after ${MAX_STEPS} steps the run still had more`);
}
