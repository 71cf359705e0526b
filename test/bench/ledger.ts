/** What the plugin's log tells of the calls of a benchmark. */

import { readFileSync } from "node:fs";
import type { LedgerEntry } from "../../src/lib/log/ledger-entry.ts";
import { readLedger } from "../../src/lib/log/read-ledger.ts";
import { type Summary, summarize } from "./summary.ts";

/** Of calls that succeeded, in their order. */
export function readLedgerFile(path: string): readonly LedgerEntry[] {
  return readLedger(readFileSync(path, "utf8").split("\n")).filter(({ code }) => code === 0);
}

/** Median milliseconds of each phase of a verb, and of the whole call. */
export function phasesOf(entries: readonly LedgerEntry[], verb: "ADD" | "DEL"): Readonly<Record<string, number>> {
  const byName = new Map<string, number[]>();
  for (const entry of entries.filter((one) => one.verb === verb)) {
    for (const { name, ms } of [...entry.phases, { name: "total", ms: entry.totalMs }]) byName.set(name, [...(byName.get(name) ?? []), ms]);
  }
  return Object.fromEntries([...byName].map(([name, values]) => [`phase ${name} p50 ms`, summarize(values).p50]));
}

/** Round trips of the last ADDs, those with a block that is claimed already: the first ADD of a node claims one. @param count how many */
export function roundTripsOf(entries: readonly LedgerEntry[], count: number): Summary {
  return summarize(
    entries
      .filter(({ verb }) => verb === "ADD")
      .slice(-count)
      .map(({ roundTrips }) => roundTrips),
  );
}
