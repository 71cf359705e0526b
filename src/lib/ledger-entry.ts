/** The startup ledger's entry: where the time of one ADD or DEL went, as it stands in the log and is read back. */

import type { Fields } from "./log.ts";

/** The message of a ledger line in the log. */
export const LEDGER_MESSAGE = "ledger";

/** One part of an operation. Parts may overlap: their sum can be more, or less, than the total. */
export interface LedgerPhase {
  readonly name: string;
  /** Milliseconds from the start of the process to the phase's first moment. */
  readonly startMs: number;
  /** Milliseconds during which at least one span of this phase was open. */
  readonly ms: number;
}

export interface LedgerEntry {
  /** When the line was written: ISO 8601, UTC. */
  readonly time: string;
  /** Namespace and name, as every line of the log of its call names it; "" when the runtime named none. */
  readonly pod: string;
  /** `ADD` or `DEL`. */
  readonly verb: string;
  readonly containerID: string;
  readonly ifName: string;
  readonly network: string;
  /** 0, or the CNI code that the operation ended with. */
  readonly code: number;
  /** Milliseconds from the start of the process to the end of the operation. */
  readonly totalMs: number;
  /** Sequential round trips to the datastore, retries included. */
  readonly roundTrips: number;
  readonly retries: number;
  /** In the order in which they began. */
  readonly phases: readonly LedgerPhase[];
}

/** An entry as its call knows it: time and pod are those of every line of its log. */
export type LedgerReport = Omit<LedgerEntry, "time" | "pod">;

/** The fields of the log line that carries an entry. */
export function toLedgerFields(entry: LedgerReport): Fields {
  const { phases, ...scalars } = entry;
  const phaseMs: Record<string, number> = {};
  const phaseStartMs: Record<string, number> = {};
  for (const { name, ms, startMs } of phases) {
    phaseMs[name] = ms;
    phaseStartMs[name] = startMs;
  }
  return { ...scalars, phaseMs, phaseStartMs };
}

/**
 * The ledger entries among the lines of a log file, in their order. Anything else is skipped: other messages, text that is no
 * JSON, a line cut by a full disk.
 */
export function readLedger(lines: Iterable<string>): LedgerEntry[] {
  const entries: LedgerEntry[] = [];
  for (const line of lines) {
    if (!line.includes(`"msg":"${LEDGER_MESSAGE}"`)) continue;
    const entry = toEntry(parseObject(line));
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

function parseObject(line: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function toTable(value: unknown): Map<string, number> {
  const table = new Map<string, number>();
  if (typeof value !== "object" || value === null) return table;
  for (const [name, number] of Object.entries(value)) if (typeof number === "number") table.set(name, number);
  return table;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function numberOf(value: unknown): number {
  return typeof value === "number" ? value : 0;
}
