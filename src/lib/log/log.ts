/** Levelled log lines with fields: who writes one, who receives it, and nothing secret in between. */

import type { Clock } from "../ports.ts";
import { isSecretName, isSurelyClean, REDACTED, redactText } from "../redact.ts";

/** In rising order of detail; a log writes its own level and those before it. */
export const LOG_LEVELS = ["ERROR", "WARNING", "INFO", "DEBUG"] as const;

/** What `log_level` takes. */
export type LogLevel = (typeof LOG_LEVELS)[number];

/**
 * What a field may hold: scalars, lists of texts, tables of numbers. Objects are left out on purpose: a network config, a pod or
 * a kubeconfig must not get in whole. A field that is undefined is not written.
 */
export type FieldValue = string | number | boolean | readonly string[] | Readonly<Record<string, number>> | undefined;

/** What a line says besides its message, by name. */
export type Fields = Readonly<Record<string, FieldValue>>;

/** One line before it has a shape; already free of secrets. */
export interface LogRecord {
  /** Milliseconds since 1970, UTC. */
  readonly time: number;
  readonly level: LogLevel;
  readonly msg: string;
  readonly fields: Fields;
}

/** Where lines go. Must not throw: a log that fails never fails an operation. */
export interface LogSink {
  write(record: LogRecord): void;
}

/** Writes lines; handed to code, so that it knows neither where they go nor which are wanted. */
export interface Log {
  error(msg: string, fields?: Fields): void;
  warning(msg: string, fields?: Fields): void;
  info(msg: string, fields?: Fields): void;
  debug(msg: string, fields?: Fields): void;
}

/** Where lines go, and which of them. */
export interface LogOptions {
  readonly clock: Pick<Clock, "now">;
  readonly level: LogLevel;
  readonly sinks: readonly LogSink[];
  /** Fields of every line, e.g. the container ID. */
  readonly fields?: Fields;
}

/**
 * Opens a log.
 *
 * ```ts
 * const log = createLog({ clock, level: "INFO", sinks: [textSink(console.error), logFile], fields: { containerID } });
 * log.warning("skip gate", { url, reason });
 * ```
 */
export function createLog({ clock, level: maxLevel, sinks, fields: base = {} }: LogOptions): Log {
  const limit = LOG_LEVELS.indexOf(maxLevel);
  const write = (level: LogLevel, msg: string, fields: Fields = {}): void => {
    if (LOG_LEVELS.indexOf(level) > limit) return;
    const record = redactRecord({ time: clock.now(), level, msg, fields: { ...base, ...fields } });
    for (const sink of sinks) sink.write(record);
  };
  return {
    error: (msg, fields) => write("ERROR", msg, fields),
    warning: (msg, fields) => write("WARNING", msg, fields),
    info: (msg, fields) => write("INFO", msg, fields),
    debug: (msg, fields) => write("DEBUG", msg, fields),
  };
}

/** A record as it may be written: secrets replaced, what is no {@link FieldValue} left out, absent fields dropped. */
function redactRecord(record: LogRecord): LogRecord {
  const isClean = isSurelyClean(allTexts(record));
  const fields: Record<string, FieldValue> = {};
  for (const name in record.fields) {
    const value = record.fields[name];
    if (value === undefined || value === null) continue;
    fields[name] = isClean || !isSecretName(name) ? redactValue(value, isClean) : REDACTED;
  }
  return { ...record, msg: isClean ? record.msg : redactText(record.msg), fields };
}

function allTexts({ msg, fields }: LogRecord): string {
  let all = msg;
  for (const name in fields) {
    const value = fields[name];
    all += `\n${name}\n`;
    if (typeof value === "string") all += value;
    else if (Array.isArray(value)) all += value.join("\n");
  }
  return all;
}

function redactValue(value: Exclude<FieldValue, undefined>, isClean: boolean): FieldValue {
  if (typeof value === "string") return isClean ? value : redactText(value);
  if (typeof value === "number" || typeof value === "boolean") return value;
  if (isList(value)) return value.map((item: unknown) => (isClean ? String(item) : redactText(String(item))));
  // The type says a table of numbers; what came past the type checker is dropped.
  const numbers: Record<string, number> = {};
  for (const name in value) {
    const number: unknown = value[name];
    if (typeof number === "number") numbers[name] = number;
  }
  return numbers;
}

function isList(value: readonly string[] | Readonly<Record<string, number>>): value is readonly string[] {
  return Array.isArray(value);
}
