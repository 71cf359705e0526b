/** How far a command is that takes long: one line on a terminal, written anew as it goes, and wiped before anything else is written. */

import type { Answers, Datastore, Query, ReadOptions } from "../../datastore/datastore.ts";
import { inFrontOf } from "../../datastore/in-front-of.ts";
import type { CliIo, Output, Progress } from "../io.ts";

/** What takes less needs no line. */
const QUIET_MS = 2_000;

/** Between two lines: nobody reads faster. */
const PAUSE_MS = 100;

/** Back to the beginning of the line, and clear it. */
const WIPE = "\r\x1b[K";

/**
 * A line without wrapping: of one that is wider than the terminal the next wipe would leave all rows but the last. What is written beyond the
 * last column goes into it, so the end is a blank. Source: xterm control sequences, DECAWM.
 */
const toRow = (line: string): string => `\x1b[?7l${line} \x1b[?7h`;

/** The same for a command whose progress is shown where stderr is a terminal, whatever stdout is. */
export function withProgress(io: CliIo): CliIo {
  const { clock, stdout, stderr } = io;
  if (!stderr.isTerminal) return io;
  const startMs = clock.monotonic();
  const parts = { read: "", done: "" };
  let isShown = false;
  let shownMs = Number.NEGATIVE_INFINITY;
  const wipe = (): void => {
    if (isShown) stderr.write(WIPE);
    isShown = false;
  };
  const tell: Progress["tell"] = (part, text) => {
    parts[part] = text;
    const nowMs = clock.monotonic();
    if (nowMs - startMs < QUIET_MS || nowMs - shownMs < PAUSE_MS) return;
    isShown = true;
    shownMs = nowMs;
    const line = [parts.read, parts.done].filter((one) => one !== "").join("; ");
    stderr.write(`${WIPE}${toRow(line)}`);
  };
  const onClean = (output: Output): Output => ({
    isTerminal: output.isTerminal,
    write(text) {
      wipe();
      output.write(text);
    },
    drained: () => output.drained(),
  });
  return { ...io, stdout: stdout.isTerminal ? onClean(stdout) : stdout, stderr: onClean(stderr), progress: { tell, wipe } };
}

/** `1,200`: a number that may be large. */
export function toNumberText(number: number): string {
  return number.toLocaleString("en-US");
}

/** The same datastore, which tells how much of it was read; what is read twice counts twice. */
export function tellingReads(inner: Datastore, progress: Progress | undefined): Datastore {
  if (progress === undefined) return inner;
  const counts = { IPAMBlock: 0, WorkloadEndpoint: 0 };
  const add = (kind: string, number: number): void => {
    if (number === 0 || (kind !== "IPAMBlock" && kind !== "WorkloadEndpoint")) return;
    counts[kind] += number;
    const texts = [toCountText(counts.IPAMBlock, "block"), toCountText(counts.WorkloadEndpoint, "endpoint")].filter((text) => text !== "");
    progress.tell("read", texts.length === 0 ? "" : `read ${texts.join(", ")}`);
  };
  const read: Datastore["read"] = async (queries, options) => {
    /** What pages have told of, which the answers tell of again. */
    const early = new Map<string, number>();
    const onPage: ReadOptions["onPage"] = (kind, number) => {
      early.set(kind, (early.get(kind) ?? 0) + number);
      add(kind, number);
    };
    const answers = await inner.read(queries, { ...options, onPage });
    const late = Map.groupBy(queries.entries(), ([, query]) => (query.type === "list" ? query.kind : "IPAMBlock"));
    for (const [kind, asked] of late)
      add(kind, asked.reduce((sum, [at, query]) => sum + sizeOf(query, answers, at), 0) - (early.get(kind) ?? 0));
    return answers;
  };
  return inFrontOf(inner, { read });
}

function toCountText(number: number, thing: string): string {
  return number === 0 ? "" : `${toNumberText(number)} ${thing}${number === 1 ? "" : "s"}`;
}

/** How many records are in an answer; places and names of blocks are none. */
function sizeOf(query: Query, answers: Answers<readonly Query[]>, at: number): number {
  switch (query.type) {
    case "list":
    case "all-blocks":
    case "blocks-of-node":
      return (answers[at] as Answers<readonly [typeof query]>[0]).length;
    case "block-page":
      return (answers[at] as Answers<readonly [typeof query]>[0]).blocks.length;
    case "block":
      return answers[at] === undefined ? 0 : 1;
    default:
      return 0;
  }
}
