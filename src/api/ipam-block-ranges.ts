/** Lists of ordinals as short text: `5-63,0` is 5, 6, … 63, then 0. The order counts: it is that of reuse. */

/** Writes every run of ascending neighbours as one range. */
export function toRangesText(ordinals: readonly number[]): string {
  const ranges: string[] = [];
  for (let i = 0; i < ordinals.length; i++) {
    const first = ordinals[i];
    while (ordinals[i + 1] === (ordinals[i] ?? 0) + 1) i++;
    ranges.push(ordinals[i] === first ? `${first}` : `${first}-${ordinals[i]}`);
  }
  return ranges.join(",");
}

/**
 * Reads what {@link toRangesText} wrote.
 *
 * @param size how many ordinals there are: each must be below it, and none may appear twice
 * @returns undefined for any other text
 */
export function parseRanges(text: string, size: number): readonly number[] | undefined {
  if (text === "") return [];
  const ordinals: number[] = [];
  const seen = new Uint8Array(size);
  for (const range of text.split(",")) {
    const dash = range.indexOf("-");
    const first = toOrdinal(dash < 0 ? range : range.slice(0, dash));
    const last = dash < 0 ? first : toOrdinal(range.slice(dash + 1));
    if (!(first <= last && last < size)) return undefined;
    for (let ordinal = first; ordinal <= last; ordinal++) {
      if (seen[ordinal] === 1) return undefined;
      seen[ordinal] = 1;
      ordinals.push(ordinal);
    }
  }
  return ordinals;
}

/** Decimal digits only; NaN for any other text. */
function toOrdinal(text: string): number {
  const ordinal = Number(text);
  return Number.isInteger(ordinal) && ordinal >= 0 && String(ordinal) === text ? ordinal : Number.NaN;
}
