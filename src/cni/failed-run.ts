/** A run of a verb that failed, for those who may run it again. */

import type { Call } from "./call.ts";

/** Why a run failed, and how to run the verb again. */
export interface FailedRun<E = unknown> {
  readonly fault: E;
  readonly run: (call: Call) => Promise<void>;
}
