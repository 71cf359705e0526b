/** The two shapes of a log line: text for people on stderr, JSON for programs in the file. */

import type { FieldValue, LogRecord, LogSink } from "./log.ts";

/** What would let a message forge a second line, turn text around or drive a terminal. */
const HIDDEN = /[\p{C}\p{Zl}\p{Zp}]/gu;

/** Printable ASCII, as nearly everything is, is spared that expression: compiling it costs a short-lived process 0.05 ms. */
const PRINTABLE = /^[ -~]*$/;

/**
 * One line of text without its end: `2026-11-21T12:00:00.000Z WARNING skip gate url="http://…"`, values quoted as JSON does.
 *
 * @returns no control character, whatever the record holds
 */
export function toTextLine(record: LogRecord): string {
  let line = `${new Date(record.time).toISOString()} ${record.level} ${record.msg}`;
  for (const name in record.fields) line += ` ${name}=${toTextValue(record.fields[name])}`;
  return PRINTABLE.test(line) ? line : line.replace(HIDDEN, toEscape);
}

/**
 * One line of JSON without its end; `time`, `level` and `msg` come first and cannot be replaced by a field of that name.
 *
 * @returns no control character, as {@link toTextLine}: people look at the file with `tail`
 */
export function toJsonLine(record: LogRecord): string {
  const head = { time: new Date(record.time).toISOString(), level: record.level, msg: record.msg };
  const line = JSON.stringify({ ...head, ...record.fields, ...head });
  return PRINTABLE.test(line) ? line : line.replace(HIDDEN, toJsonEscape);
}

/** Text lines to whatever writes one line, e.g. `console.error`. */
export function textSink(writeLine: (line: string) => void): LogSink {
  return { write: (record) => writeLine(toTextLine(record)) };
}

/** JSON lines to whatever writes one line: the form of long-running roles on stderr. */
export function jsonSink(writeLine: (line: string) => void): LogSink {
  return { write: (record) => writeLine(toJsonLine(record)) };
}

function toTextValue(value: FieldValue): string {
  // Numbers of a table are written as JSON: that is the cheapest way to print many of them.
  if (typeof value === "object" && !Array.isArray(value)) return JSON.stringify(value);
  return JSON.stringify(Array.isArray(value) ? value.join(" ") : String(value));
}

function toEscape(hidden: string): string {
  return `\\u{${(hidden.codePointAt(0) ?? 0).toString(16)}}`;
}

/** One escape for each half of a surrogate pair. */
function toJsonEscape(hidden: string): string {
  return hidden.replace(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
