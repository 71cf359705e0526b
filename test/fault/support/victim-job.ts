/** What a victim is told, and what it tells before it dies. */

import type { PluginName } from "../../../src/cni/call.ts";
import type { Moment } from "./faults.ts";

/** The variable that holds a {@link VictimJob} as JSON. */
export const JOB_VARIABLE = "NETPLUG_FAULT_JOB";

export interface VictimJob {
  readonly plugin: PluginName;
  /** Path of the namespace that plays the host's; absent: the one that the process is in. */
  readonly hostNetns?: string;
  /** Number of the step at which it kills itself; 0: never. */
  readonly at: number;
  readonly moment: Moment;
  /** How far its clock is ahead. @default 0 */
  readonly laterMs?: number;
  /** File for the {@link VictimReport}. */
  readonly report: string;
}

export interface VictimReport {
  /** Name of the step at which it was killed. */
  readonly killedAt?: string;
  /** How many steps there were. */
  readonly steps: number;
  /** Whether the step at which it was killed could be done by half. */
  readonly hasHalf: boolean;
}
