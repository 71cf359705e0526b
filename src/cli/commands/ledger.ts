/** `ledger`: reads back where the time of each ADD and DEL went. */

import type { LedgerEntry } from "../../lib/log/ledger-entry.ts";
import { rotatedFiles } from "../../lib/log/log-file.ts";
import { readLedger } from "../../lib/log/read-ledger.ts";
import type { Files } from "../../lib/ports.ts";
import { quote } from "../../lib/quote.ts";
import { toSourceText } from "../../lib/source-name.ts";
import { CommandFailed, EXIT } from "../failures/failure.ts";
import { linesFromEnd } from "../host/log-lines.ts";
import { type Cli, note } from "../io.ts";
import { toReportText } from "../output/json-yaml.ts";
import type { ReportFormat } from "../output/format.ts";
import { toEntryTable, toSummaryTable } from "../output/ledger-tables.ts";

/** Which log to read, `-` for stdin, and of the entries that fit all filters the newest `last`. `container` is the beginning of an ID. */
export interface LedgerFlags {
  readonly file: string;
  readonly last: number;
  readonly container?: string;
  readonly pod?: string;
  readonly verb?: string;
  readonly output?: ReportFormat;
}

/** Prints the newest entries, oldest first, and a summary of them. */
export async function ledger(cli: Cli, flags: LedgerFlags): Promise<number> {
  const { entries, others } = await readEntries(cli, flags);
  if (flags.output !== undefined) {
    cli.io.stdout.write(toReportText(flags.output, { entries }));
    return EXIT.done;
  }
  if (entries.length === 0) {
    note(cli, `no entries in ${toSourceText(flags.file)}${whyNone(others, flags)}`);
    return EXIT.done;
  }
  const { isTerminal } = cli.io.stdout;
  cli.io.stdout.write(toEntryTable(entries, isTerminal));
  if (entries.length > 1) cli.io.stdout.write(`\n${toSummaryTable(entries, isTerminal)}`);
  return EXIT.done;
}

/** @param others how many entries were read that do not fit the filters */
function whyNone(others: number, { last, container, pod, verb }: LedgerFlags): string {
  if (last === 0) return "";
  const filters = Object.entries({ container, pod, verb }).filter(([, value]) => value !== undefined);
  if (others > 0) return ` that fit ${filters.map(([name, value]) => `--${name} ${quote(value ?? "")}`).join(" and ")}`;
  return `; the plugin writes them with "log_level" INFO or DEBUG`;
}

/** Those that were asked for, and how many others were read. */
interface ReadEntries {
  readonly entries: readonly LedgerEntry[];
  readonly others: number;
}

/** The folder is looked at only when the newest file has not enough. */
function* newestFirst(file: string, files: Files): Generator<string> {
  yield file;
  if (file !== "-") yield* rotatedFiles(file, files).toReversed();
}

/** Goes back from the end of the newest file until there are enough. */
async function readEntries({ io }: Cli, { file, last, container = "", pod, verb }: LedgerFlags): Promise<ReadEntries> {
  const isWanted = (entry: LedgerEntry): boolean =>
    entry.containerID.startsWith(container) &&
    (pod === undefined || entry.pod === pod || entry.pod.endsWith(`/${pod}`)) &&
    (verb === undefined || entry.verb === verb);
  const found: LedgerEntry[] = [];
  let others = 0;
  let isThere = false;
  // The newest one may get the name of a rotated one while it is read.
  const read = new Set<string>();
  for (const path of newestFirst(file, io.files)) {
    using log = await io.openLog(path);
    isThere ||= log !== undefined;
    if (log === undefined || last === 0 || (log.id !== undefined && read.has(log.id))) continue;
    if (log.id !== undefined) read.add(log.id);
    for await (const line of linesFromEnd(log)) {
      for (const entry of readLedger([line])) {
        if (isWanted(entry)) found.push(entry);
        else others++;
      }
      if (found.length >= last) return { entries: found.toReversed(), others };
    }
  }
  if (isThere) return { entries: found.toReversed(), others };
  if (io.files.list(file === "-" ? "/dev/stdin" : file) !== undefined)
    throw new CommandFailed(`read log ${toSourceText(file)}: it is a folder, want a file`, { next: "ledger --file FILE" });
  throw new CommandFailed(
    `read log ${toSourceText(file)}: there is no such file; the plugin writes it on the node that runs the pods, when the network config sets "log_file_path"`,
    { next: "ledger --file FILE" },
  );
}
