/** The two shapes of a log line: text for people on stderr, JSON for programs in the file. */

import type { FieldValue, LogRecord, LogSink } from "./log.ts";

/** What would let a message forge a second line, turn text around or drive a terminal. */
const HIDDEN = /[\p{C}\p{Zl}\p{Zp}]/gu;

/** Printable ASCII, which is nearly everything, needs no look at Unicode. */
const PLAIN = /^[ -~]*$/;

/**
 * One line of text without its end: `2026-11-21T12:00:00.000Z WARNING skip gate url="http://…"`, values quoted as JSON does.
 *
 * @returns no control character, whatever the record holds
 */
export function toTextLine(record: LogRecord): string {
  let line = `${new Date(record.time).toISOString()} ${record.level} ${showHidden(record.msg)}`;
  for (const [name, value] of Object.entries(record.fields)) {
    line += ` ${showHidden(name)}=${toTextValue(value)}`;
  }
  return line;
}

/** One line of JSON without its end; `time`, `level` and `msg` come first and cannot be replaced by a field of that name. */
export function toJsonLine(record: LogRecord): string {
  const head = { time: new Date(record.time).toISOString(), level: record.level, msg: record.msg };
  return JSON.stringify({ ...head, ...record.fields, ...head });
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
  const text = typeof value === "string" ? value : Array.isArray(value) ? value.join(" ") : tableText(value);
  return showHidden(JSON.stringify(text));
}

function tableText(value: FieldValue): string {
  if (typeof value !== "object") return String(value);
  return Object.entries(value)
    .map(([name, number]) => `${name}:${number}`)
    .join(" ");
}

function showHidden(text: string): string {
  if (PLAIN.test(text)) return text;
  return text.replace(HIDDEN, (hidden) => `\\u{${(hidden.codePointAt(0) ?? 0).toString(16)}}`);
}
