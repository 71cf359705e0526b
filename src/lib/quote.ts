/** Showing text from outside in a message without being fooled by it. */

/** Longest text that a message shows. */
const SHOWN_LENGTH = 200;

/**
 * Text between quotes for a message, on one line. Between double quotes control characters, line breaks, direction marks, broken
 * surrogates, backslashes and double quotes are escaped. Text in which only double quotes would need it is put between single quotes, just as
 * it is, so that people find it again: nothing is escaped there, and no single quote or backslash is inside. Text of more than 200
 * characters is cut, with its real length behind.
 *
 * ```ts
 * quote("a\nb"); // "a\nb"
 * quote('["10.65.0.7"]'); // '["10.65.0.7"]'
 * ```
 */
export function quote(text: string): string {
  if (text.length <= SHOWN_LENGTH) return escape(text);
  return `${escape(`${text.slice(0, SHOWN_LENGTH)}…`)} (${text.length} characters)`;
}

/** Any JSON value for a message: text as {@link quote} shows it, objects and lists by their kind, never their content. */
export function quoteValue(value: unknown): string {
  if (typeof value === "string") return quote(value);
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return value.length === 0 ? "an empty list" : "a list";
  if (typeof value === "object") return "an object";
  return typeof value === "number" || typeof value === "boolean" ? String(value) : `a ${typeof value}`;
}

/** The expressions are inside the function: only a failing call needs them, and compiling them would cost every call. */
function escape(text: string): string {
  // Printable ASCII, which is nearly everything, needs no look at Unicode.
  if (/^[ !#-[\]-~]*$/.test(text)) return `"${text}"`;
  const escaped = JSON.stringify(text).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (hidden) => `\\u{${(hidden.codePointAt(0) ?? 0).toString(16)}}`);
  const hasOnlyQuotes = text.includes('"') && !text.includes("'") && escaped === `"${text.replaceAll('"', '\\"')}"`;
  return hasOnlyQuotes ? `'${text}'` : escaped;
}
