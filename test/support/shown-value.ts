/** For tests: how a message shows a value. */

/** @param value of printable characters, without backslashes, and without single quotes beside double ones */
export function shownValue(value: string): string {
  return value.includes('"') ? `'${value}'` : `"${value}"`;
}
