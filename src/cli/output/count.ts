/** Numbers of things in messages. */

/** `1 block`, `2 blocks`. @param plural what more than one thing adds to the word */
export function count(number: number, thing: string, plural = "s"): string {
  return `${number} ${thing}${number === 1 ? "" : plural}`;
}

/** `1,200`: a number that may be large. */
export function toNumberText(number: number): string {
  return number.toLocaleString("en-US");
}
