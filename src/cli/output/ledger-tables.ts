/** Tables of ledger entries: each by itself, and all together. */

import type { LedgerEntry } from "../../lib/log/ledger-entry.ts";
import { toShortID } from "./container-id.ts";
import { toTable } from "./table.ts";

/** One row per ADD or DEL, with a column for each phase that occurs. */
export function toEntryTable(entries: readonly LedgerEntry[], colour: boolean): string {
  const phases = phaseNames(entries);
  const header = [
    "TIME",
    "VERB",
    "CODE",
    "CONTAINER",
    "IFNAME",
    "POD",
    "TOTAL ms",
    ...phases.map((name) => name.toUpperCase()),
    "TRIPS",
    "RETRIES",
  ];
  const rows = entries.map((entry) => [
    entry.time,
    entry.verb,
    String(entry.code),
    toShortID(entry.containerID),
    entry.ifName,
    entry.pod || "-",
    toMs(entry.totalMs),
    ...phases.map((name) => toMs(msOf(entry, name))),
    String(entry.roundTrips),
    String(entry.retries),
  ]);
  return toTable(header, rows, { colour, right: numericFrom(6, header.length) });
}

/** For each verb and phase how long it took: percentiles over the entries that have it. */
export function toSummaryTable(entries: readonly LedgerEntry[], colour: boolean): string {
  const header = ["VERB", "PHASE", "COUNT", "P50 ms", "P90 ms", "P99 ms", "MAX ms"];
  const rows = [...Map.groupBy(entries, ({ verb }) => verb)].flatMap(([verb, group]) =>
    ["total", ...phaseNames(group)].map((name) => {
      const times = group.flatMap((entry) => (name === "total" ? entry.totalMs : (msOf(entry, name) ?? []))).toSorted((a, b) => a - b);
      return [verb, name, String(times.length), ...[0.5, 0.9, 0.99, 1].map((share) => toMs(percentile(times, share)))];
    }),
  );
  return toTable(header, rows, { colour, right: numericFrom(2, header.length) });
}

function phaseNames(entries: readonly LedgerEntry[]): readonly string[] {
  return [...new Set(entries.flatMap(({ phases }) => phases.map(({ name }) => name)))];
}

function msOf(entry: LedgerEntry, phase: string): number | undefined {
  return entry.phases.find(({ name }) => name === phase)?.ms;
}

/** The smallest value that at least `share` of all do not exceed. */
function percentile(sorted: readonly number[], share: number): number | undefined {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)];
}

function toMs(ms: number | undefined): string {
  return ms === undefined ? "-" : ms.toFixed(2);
}

function numericFrom(first: number, end: number): ReadonlySet<number> {
  return new Set(Array.from({ length: end - first }, (_, index) => first + index));
}
