/** Text of others on a terminal. */

/** Text whose control characters can be seen: what somebody wrote into the datastore must not move the cursor of whoever looks at it. */
export function toVisibleText(text: string): string {
  return text.toWellFormed().replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`);
}

/** The same for text of several lines. */
export function toVisibleLines(text: string): string {
  return text.split("\n").map(toVisibleText).join("\n");
}
