/** Which known name a misspelt one was meant to be. */

/**
 * The known name that differs from `word` only in case, `_` and `-` (`etcdCaCertFile`), or in one letter that is wrong, missing, too many or
 * swapped with its neighbour.
 *
 * @returns undefined when `word` is itself known, or near to none. A name of one or two letters is near only to itself in another case
 */
export function nearestName(word: string, known: Iterable<string>): string | undefined {
  let near: string | undefined;
  let otherCase: string | undefined;
  let otherForm: string | undefined;
  const folded = word.toLowerCase();
  const letters = lettersOf(folded);
  for (const name of known) {
    if (name === word) return undefined;
    if (otherCase === undefined && name.toLowerCase() === folded) otherCase = name;
    if (otherForm === undefined && name.length > 2 && lettersOf(name.toLowerCase()) === letters) otherForm = name;
    if (near === undefined && name.length > 2 && isOneLetterOff(folded, name.toLowerCase())) near = name;
  }
  return otherCase ?? otherForm ?? near;
}

function lettersOf(word: string): string {
  return word.replace(/[_-]/g, "");
}

/** Whether one substitution, insertion, deletion or swap of neighbours makes one text of the other. */
function isOneLetterOff(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > 1) return false;
  let start = 0;
  while (start < a.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < Math.min(a.length, b.length) - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const differsInA = a.slice(start, a.length - end);
  const differsInB = b.slice(start, b.length - end);
  if (differsInA.length + differsInB.length === 1) return true;
  if (differsInA.length === 1 && differsInB.length === 1) return true;
  return differsInA.length === 2 && differsInB.length === 2 && differsInA[0] === differsInB[1] && differsInA[1] === differsInB[0];
}
