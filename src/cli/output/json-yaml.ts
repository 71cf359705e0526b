/** JSON and YAML for programs; numbers are exact however large they are. */

import { isJsonObject } from "../../lib/json.ts";
import type { ReportFormat } from "./format.ts";

/** Puts the digits of a text into JSON as a number; newer than the compiler's library. */
const { rawJSON } = JSON as typeof JSON & { rawJSON(text: string): unknown };

/**
 * Characters that JSON need not escape, but that move the cursor of a terminal or turn the direction of its text; and U+FFFD, which readers
 * take for bytes that are no text.
 */
const UNSEEN = /[\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufffd]/g;

/**
 * Texts that the YAML writer leaves unquoted, but that programs with YAML 1.1 read as numbers or times: with underscores, to the base of 2 or
 * 16, or to the base of 60, like some MAC addresses. "=" means a default there.
 */
const NO_TEXT_IN_YAML_1_1 =
  /^=$|^\d{4}-\d\d?-\d\d?|^[-+]?(\d[\d_]*(:[0-5]?\d)+(\.[\d_]*)?|0b[01_]+|0x[\da-f_]+|[\d_]*\.?[\d_]*(e[-+]?\d+)?)$/i;

/**
 * Stands, with a number behind it, for what the YAML writer cannot write: integers beyond a double, and escapes. YAML does not quote it.
 */
const MARK = "__kept_as_it_is_";
const MARKS = /__kept_as_it_is_(\d+)__/g;

/** Indented JSON, a line break at the end. A bigint becomes a plain number with all its digits. */
export function toJsonText(value: unknown): string {
  return toJson(value, 2);
}

/** The same on one line. */
export function toJsonLine(value: unknown): string {
  return toJson(value, 0);
}

function toJson(value: unknown, indent: number): string {
  const text = JSON.stringify(value, (_, item: unknown) => (typeof item === "bigint" ? rawJSON(item.toString()) : item), indent);
  return `${escapeUnseen(text)}\n`;
}

/** YAML in block style, a line break at the end. */
export function toYamlText(value: unknown): string {
  const originals: string[] = [];
  const keep = (original: string): string => `${MARK}${originals.push(original)}__`;
  const withMarks = (item: unknown): unknown => {
    if (typeof item === "bigint") return keep(item.toString());
    if (typeof item === "string") return needsQuotes(item) ? keep(escapeUnseen(JSON.stringify(item))) : item;
    if (Array.isArray(item)) return item.map(withMarks);
    if (!isJsonObject(item)) return item;
    const present = Object.entries(item).filter(([, part]) => part !== undefined);
    return Object.fromEntries(present.map(([key, part]) => [withMarks(key), withMarks(part)]));
  };
  const text = Bun.YAML.stringify(withMarks(value), null, 2);
  return `${text.replace(MARKS, (mark, number: string) => originals[Number(number) - 1] ?? mark)}\n`;
}

/** Where the YAML writer itself gives none. */
function needsQuotes(text: string): boolean {
  return text.search(UNSEEN) >= 0 || text.includes(MARK) || NO_TEXT_IN_YAML_1_1.test(text);
}

/** JSON or YAML, as a command's `-o` says. */
export function toReportText(format: ReportFormat, value: unknown): string {
  return format === "json" ? toJsonText(value) : toYamlText(value);
}

/** Inside the quotes of JSON, which are those of YAML too. */
function escapeUnseen(text: string): string {
  return text.replace(UNSEEN, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
