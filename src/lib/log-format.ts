/** The two shapes of a log line: text for people on stderr, JSON for programs in the file. */

import type { FieldValue, LogRecord, LogSink } from "./log.ts";

/** What would let a message forge a second line, or drive a terminal. */
// oxlint-disable-next-line no-control-regex -- control characters are what it looks for
const CONTROL_CHARACTERS = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g;

/**
 * One line of text without its end: `2026-11-21T12:00:00.000Z WARNING skip gate url="http://…"`, values quoted as JSON does.
 *
 * @returns no control character, whatever the record holds
 */
export function toTextLine(record: LogRecord): string {
  let line = `${new Date(record.time).toISOString()} ${record.level} ${record.msg.replace(CONTROL_CHARACTERS, escapeCharacter)}`;
  for (const [name, value] of Object.entries(record.fields)) {
    line += ` ${name.replace(CONTROL_CHARACTERS, escapeCharacter)}=${toTextValue(value)}`;
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
  return JSON.stringify(text).replace(CONTROL_CHARACTERS, escapeCharacter);
}

function tableText(value: FieldValue): string {
  if (typeof value !== "object") return String(value);
  return Object.entries(value)
    .map(([name, number]) => `${name}:${number}`)
    .join(" ");
}

function escapeCharacter(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
