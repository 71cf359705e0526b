/** Text of the API server in our messages. */

/** Longest text of a server that a message shows: validation of a whole object fits. */
const SHOWN_LENGTH = 1000;

/** One line without control characters, and no longer than a message bears. */
export function toPlainText(text: string): string {
  const shown = text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH)}… (${text.length} characters)` : text;
  return shown.replace(/[\p{C}\p{Z}]+/gu, " ").trim();
}
