/** Which of several names a word is nearest to, however far that is; lib/nearest.ts finds only what a slip of one letter can explain. */

/**
 * The name that takes the fewest changes of single letters to make from `word`; case, `_` and `-` do not count.
 *
 * @returns undefined without names
 */
export function closestName(word: string, known: readonly string[]): string | undefined {
  const plain = toPlain(word.slice(0, 100));
  let best: { readonly name: string; readonly distance: number } | undefined;
  for (const name of known) {
    const distance = editDistance(plain, toPlain(name));
    if (best === undefined || distance < best.distance) best = { name, distance };
  }
  return best?.name;
}

function toPlain(word: string): string {
  return word.toLowerCase().replace(/[_-]/g, "");
}

/** Insertions, deletions and substitutions; one row of the table at a time. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const substituted = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(substituted, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
