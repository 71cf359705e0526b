/** One ADD or DEL as a bar per phase, in the order in which the phases began. */

import type { LedgerEntry } from "../../src/lib/log/ledger-entry.ts";

/** Characters that the whole operation is wide. */
const WIDTH = 48;

/** Lines such as `datastore ····████····  1.9 ms`. */
export function toLedgerBars(entry: LedgerEntry): readonly string[] {
  const columns = (ms: number): number => Math.round((ms / entry.totalMs) * WIDTH);
  const nameWidth = Math.max(...entry.phases.map((phase) => phase.name.length), "in all".length);
  const bars = entry.phases.map(({ name, startMs, ms }) => {
    const start = Math.min(columns(startMs), WIDTH - 1);
    const length = Math.max(1, Math.min(columns(ms), WIDTH - start));
    const bar = "·".repeat(start) + "█".repeat(length) + "·".repeat(WIDTH - start - length);
    return `${name.padEnd(nameWidth)}  ${bar} ${toMs(ms)}`;
  });
  return [...bars, `${"in all".padEnd(nameWidth)}  ${" ".repeat(WIDTH)} ${toMs(entry.totalMs)}, ${entry.roundTrips} datastore round trips`];
}

function toMs(ms: number): string {
  return `${ms.toFixed(1).padStart(6)} ms`;
}
