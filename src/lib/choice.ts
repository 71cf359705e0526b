/** How messages list what may be chosen. */

/** `a, b or c`. @param words as they are shown: quoted, if they are values */
export function toChoice(words: readonly string[]): string {
  const [last = ""] = words.slice(-1);
  return words.length < 2 ? last : `${words.slice(0, -1).join(", ")} or ${last}`;
}
