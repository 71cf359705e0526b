/** What a benchmark yields: one row of the table, with its target. */

import type { Summary } from "./summary.ts";

export interface BenchRow {
  readonly what: string;
  /** As the table shows it: `≤ 1.3 × ptp + host-local`. */
  readonly target: string;
  /** As the table shows it. */
  readonly measured: string;
  /** undefined: reported only. */
  readonly met: boolean | undefined;
  /** The figures behind it, for the JSON file. */
  readonly figures: Readonly<Record<string, Summary | number | string>>;
}
