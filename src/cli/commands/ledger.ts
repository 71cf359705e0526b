/** `ledger`: reads back where the time of each ADD and DEL went. */

import { type LedgerEntry, readLedger } from "../../lib/ledger.ts";
import { rotatedFiles } from "../../lib/log-file.ts";
import { quote } from "../../lib/quote.ts";
import { CommandFailed, EXIT } from "../failure.ts";
import { type Cli, note } from "../io.ts";
import { linesFromEnd } from "../log-lines.ts";
import { toReportText } from "../output/data.ts";
import type { ReportFormat } from "../output/format.ts";
import { toTable } from "../output/table.ts";

export interface LedgerFlags {
  readonly file: string;
  readonly last: number;
  readonly container?: string;
  readonly pod?: string;
  readonly verb?: string;
  readonly output?: ReportFormat;
}

/** The newest entries, oldest first, and what is usual among them. */
export async function ledger(cli: Cli, flags: LedgerFlags): Promise<number> {
  const entries = await readEntries(cli, flags);
  if (flags.output !== undefined) {
    cli.io.stdout.write(toReportText(flags.output, { entries }));
    return EXIT.done;
  }
  if (entries.length === 0) {
    note(cli, `no entries in ${quote(flags.file)}`);
    return EXIT.done;
  }
  const { isTerminal } = cli.io.stdout;
  cli.io.stdout.write(toEntryTable(entries, isTerminal));
  if (entries.length > 1) cli.io.stdout.write(`\n${toSummaryTable(entries, isTerminal)}`);
  return EXIT.done;
}

/** Goes back from the end of the newest file until there are enough. */
async function readEntries({ io }: Cli, { file, last, container = "", pod, verb }: LedgerFlags): Promise<readonly LedgerEntry[]> {
  const isWanted = (entry: LedgerEntry): boolean =>
    entry.containerID.startsWith(container) &&
    (pod === undefined || entry.pod === pod || entry.pod.endsWith(`/${pod}`)) &&
    (verb === undefined || entry.verb === verb.toUpperCase());
  const found: LedgerEntry[] = [];
  let isThere = false;
  for (const path of [file, ...rotatedFiles(file, io.files).toReversed()]) {
    const log = await io.openLog(path);
    isThere ||= log !== undefined;
    if (log === undefined || last === 0) continue;
    for await (const line of linesFromEnd(log)) {
      found.push(...readLedger([line]).filter(isWanted));
      if (found.length >= last) return found.toReversed();
    }
  }
  if (isThere) return found.toReversed();
  throw new CommandFailed(
    `read log ${quote(file)}: there is no such file; the plugin writes it on the node that runs the pods, when the network config sets "log_file_path"`,
    {
      next: "ledger --file FILE",
    },
  );
}

function phaseNames(entries: readonly LedgerEntry[]): readonly string[] {
  return [...new Set(entries.flatMap(({ phases }) => phases.map(({ name }) => name)))];
}

function toEntryTable(entries: readonly LedgerEntry[], colour: boolean): string {
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
    entry.containerID.slice(0, 13),
    entry.ifName,
    entry.pod || "-",
    toMs(entry.totalMs),
    ...phases.map((name) => toMs(msOf(entry, name))),
    String(entry.roundTrips),
    String(entry.retries),
  ]);
  return toTable(header, rows, { colour, right: numericFrom(6, header.length) });
}

function toSummaryTable(entries: readonly LedgerEntry[], colour: boolean): string {
  const header = ["VERB", "PHASE", "COUNT", "P50 ms", "P90 ms", "P99 ms", "MAX ms"];
  const rows = [...Map.groupBy(entries, ({ verb }) => verb)].flatMap(([verb, group]) =>
    ["total", ...phaseNames(group)].map((name) => {
      const times = group.flatMap((entry) => (name === "total" ? entry.totalMs : (msOf(entry, name) ?? []))).toSorted((a, b) => a - b);
      return [verb, name, String(times.length), ...[0.5, 0.9, 0.99, 1].map((share) => toMs(percentile(times, share)))];
    }),
  );
  return toTable(header, rows, { colour, right: numericFrom(2, header.length) });
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
