/** Reads the startup ledger back from a log; apart from its writer, which every call of the plugin loads. */

import { isJsonObject, tryParseJson } from "../json.ts";
import { LEDGER_MESSAGE, type LedgerEntry } from "./ledger-entry.ts";

/** Within a value its quotes would be escaped. */
const LINE_BEGINNING = '{"time":"';

/**
 * The ledger entries among the lines of a log file, in their order. Anything else is skipped: other messages, text that is no
 * JSON, a line cut by a full disk; not what the next process wrote right behind such a line.
 */
export function readLedger(lines: Iterable<string>): LedgerEntry[] {
  const entries: LedgerEntry[] = [];
  for (const line of lines) {
    if (!line.includes(`"msg":"${LEDGER_MESSAGE}"`)) continue;
    const record = tryParseJson(line) ?? tryParseJson(line.slice(line.lastIndexOf(LINE_BEGINNING)));
    const entry = isJsonObject(record) ? toEntry(record) : undefined;
    if (entry !== undefined) entries.push(entry);
  }
  return entries;
}

function toEntry(record: Readonly<Record<string, unknown>>): LedgerEntry | undefined {
  const { msg, time, verb, totalMs } = record;
  if (msg !== LEDGER_MESSAGE || typeof time !== "string" || typeof verb !== "string" || typeof totalMs !== "number") return undefined;
  const starts = toTable(record["phaseStartMs"]);
  return {
    time,
    verb,
    totalMs,
    pod: textOf(record["pod"]),
    containerID: textOf(record["containerID"]),
    ifName: textOf(record["ifName"]),
    network: textOf(record["network"]),
    code: numberOf(record["code"]),
    roundTrips: numberOf(record["roundTrips"]),
    retries: numberOf(record["retries"]),
    phases: [...toTable(record["phaseMs"])].map(([name, ms]) => ({ name, startMs: starts.get(name) ?? 0, ms })),
  };
}

function toTable(value: unknown): Map<string, number> {
  const table = new Map<string, number>();
  if (!isJsonObject(value)) return table;
  for (const [name, number] of Object.entries(value)) if (typeof number === "number") table.set(name, number);
  return table;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function numberOf(value: unknown): number {
  return typeof value === "number" ? value : 0;
}
