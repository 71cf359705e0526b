/** How far a command is that takes long: one line on a terminal, written anew as it goes, and wiped before anything else is written. */

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
